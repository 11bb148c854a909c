-- Words of new names and notes wait in a list of at most 1 MB, as those of texts (20261125T151000_words_pending.sql). Entered
-- one by one, the words of a new conversation's name and number took 54 records and 11 kB of the log.
alter index conversation_words_outside_texts set (fastupdate = on, gin_pending_list_limit = 1024);
