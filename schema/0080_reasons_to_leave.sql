-- Why people leave a list is counted without reading its whole ledger.
CREATE INDEX consent_left ON consent (list_id, reason, at) WHERE what = 'unsubscribed';
CREATE INDEX consent_resumed ON consent (list_id) WHERE what = 'resumed';
