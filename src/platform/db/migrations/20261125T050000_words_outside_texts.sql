-- Words of names and notes, apart from those of texts: a word that half of all texts have is rare among them. Without this
-- index, a search for notes with such a word read all those texts: 2 s for a million.
create index if not exists conversation_words_outside_texts on conversation_words using gin (words) with (fastupdate = off)
  where kind <> 'text';
