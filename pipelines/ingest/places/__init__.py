"""Where the bytes of sources lie: files, objects, archives, members, and ranges of them."""
