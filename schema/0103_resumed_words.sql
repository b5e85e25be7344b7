-- That an import was undone which had ended someone has a key of its own, next to what the file of a command says.
UPDATE import_word SET import_id = 'resumed' WHERE kind = 'resumed';
