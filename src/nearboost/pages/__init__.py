"""What all pages share: drawings, charts, tables, numbers in words, templates."""
