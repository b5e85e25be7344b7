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

-- Mails that ask once more say so: the others are sent without looking up who has left.
UPDATE mail SET params = '{"once_more":true}' WHERE state = 0 AND (kind = 'ask_again' OR kind = 'confirm' AND EXISTS (
  SELECT 1 FROM subscription AS s WHERE s.list_id = mail.list_id AND s.asked_at = mail.created_at AND s.asked_at > 0
  AND s.email_key = mail.email_key));
