-- The list of conversations with a note that mentions a user.
create index conversation_notes_by_mention on conversation_notes using gin (mentions) where mentions <> '{}';
