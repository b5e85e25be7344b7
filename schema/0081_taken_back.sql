-- An unsubscribe that was taken back says so itself, and stands in no index of those who left.
ALTER TABLE consent ADD COLUMN taken_back INTEGER NOT NULL DEFAULT 0;
UPDATE consent SET taken_back = 1 WHERE what = 'unsubscribed' AND (list_id, subscription_id, at) IN (
  SELECT r.list_id, r.subscription_id, (SELECT p.at FROM consent AS p
    WHERE p.list_id = r.list_id AND p.subscription_id = r.subscription_id AND p.at < r.at
    AND p.what IN ('unsubscribed', 'resumed', 'confirmed', 'imported', 'disabled') ORDER BY p.at DESC LIMIT 1)
  FROM consent AS r WHERE r.what = 'resumed');
DROP INDEX consent_left;
DROP INDEX consent_resumed;
CREATE INDEX consent_left ON consent (list_id, reason, at) WHERE what = 'unsubscribed' AND taken_back = 0;
