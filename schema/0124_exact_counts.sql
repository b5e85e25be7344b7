-- The size of the posts and images that an import stores goes down with each one that is deleted.
CREATE TRIGGER import_post_gone AFTER DELETE ON import_post BEGIN
  UPDATE import_job SET post_bytes = post_bytes - octet_length(OLD.body) WHERE id = OLD.import_id;
END;
CREATE TRIGGER import_image_gone AFTER DELETE ON import_chunk WHEN OLD.kind = 8 BEGIN
  UPDATE import_job SET post_bytes = post_bytes - octet_length(OLD.data) WHERE id = OLD.import_id;
END;
UPDATE import_job SET post_bytes =
  (SELECT coalesce(sum(octet_length(body)), 0) FROM import_post WHERE import_id = import_job.id) +
  (SELECT coalesce(sum(octet_length(data)), 0) FROM import_chunk WHERE import_id = import_job.id AND kind = 8)
  WHERE posts > 0;

-- Sweeps have been marking jobs since they delete opens and clicks. Where all clicks are gone, an older sweep took them.
UPDATE send_job SET tracked = tracked | 16
  WHERE clicked > 0 AND NOT EXISTS (SELECT 1 FROM engagement WHERE job_no = send_job.no);
