"""What pages share: drawings, charts, tables, templates."""
