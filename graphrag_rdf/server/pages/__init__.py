"""Pages for people: rendered here, usable without JavaScript, nothing of documents or answers unescaped.

Each module has the page of one kind of thing: functions that give HTML, which the routes of that thing offer
beside JSON and RDF, and the routes that are pages alone.
"""
