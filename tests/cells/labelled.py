"""Labels to begin with."""


def name_classes(store, names=("diffuse", "granular"), who="Ada Lovelace"):
    """Two classes, and their numbers."""
    return [store.add_class(who, name).id for name in names]
