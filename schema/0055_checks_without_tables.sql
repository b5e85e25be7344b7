-- SQLite makes a table of the values of an IN with three or more, and in a CHECK makes it anew for each row that is
-- written. The same rule in words that it compares one after the other costs a third less for a row of an import.
PRAGMA writable_schema = 1;
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (status IN (''pending'', ''active'', ''unsubscribed''))',
    'CHECK (status = ''active'' OR status = ''pending'' OR status = ''unsubscribed'')')
  WHERE type = 'table' AND name = 'subscription';
UPDATE sqlite_schema SET sql = replace(sql, 'CHECK (block IN ('''', ''bounced'', ''complaint'', ''suppressed''))',
    'CHECK (block = '''' OR block = ''bounced'' OR block = ''complaint'' OR block = ''suppressed'')')
  WHERE type = 'table' AND name = 'subscriber';
PRAGMA writable_schema = RESET;
