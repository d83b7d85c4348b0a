def demo() -> None:
    """stub"""
