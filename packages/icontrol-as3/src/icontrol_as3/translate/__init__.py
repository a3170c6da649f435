"""From classes of declarations to configuration objects, by name and defaults as AS3 (`map_as3.js`) makes them."""
