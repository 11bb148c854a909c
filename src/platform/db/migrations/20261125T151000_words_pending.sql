-- Words of new texts wait in a list of at most 1 MB, and enter the index together: decision 0043 has the measurement.
alter index conversation_words_by_word set (fastupdate = on, gin_pending_list_limit = 1024);
