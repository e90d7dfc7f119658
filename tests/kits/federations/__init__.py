"""Small federations, put together of machines, for tests of what goes on between them."""
