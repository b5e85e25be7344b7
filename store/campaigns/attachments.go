package campaigns

import (
	"context"
	"errors"
	"io"

	"newsletterd/core"
	"newsletterd/store/db"
)

// attachedFile is a stored file with the name that it has as an attachment.
type attachedFile struct {
	core.MediaFile
	Name string `db:"name"`
}

const attachedFiles = "SELECT f.no, f.sha256, f.type, f.width, f.height, f.bytes, "

// Attachments returns the attachments of a campaign copy, in order. Its only error is core.ErrStorage.
func (s *Store) Attachments(ctx context.Context, copyID string) ([]core.Attachment, error) {
	var found []attachedFile
	if err := s.All(ctx, &found, attachedFiles+`a.name FROM attachment AS a JOIN media_file AS f ON f.no = a.file_no
		WHERE a.copy_id = ? ORDER BY a.place`, copyID); err != nil {
		return nil, err
	}
	return s.readAttachments(ctx, found)
}

// AttachmentsOf returns media files of a tenant as email attachments, in order. If a file does not exist, it returns an
// Invalid error on attachments.
func (s *Store) AttachmentsOf(ctx context.Context, tenantID string, ids []string) ([]core.Attachment, error) {
	var found []attachedFile
	for _, id := range ids {
		m, err := s.Media(ctx, id)
		if errors.Is(err, core.ErrNotFound) || err == nil && m.TenantID != tenantID {
			return nil, noMedia(id)
		}
		if err != nil {
			return nil, err
		}
		found = append(found, attachedFile{m.Full, core.AttachmentName(m.Name, m.Full.Type)})
	}
	return s.readAttachments(ctx, found)
}

// AttachmentsOfDraft returns the attachments of a draft. For an approved draft, these are the files stored at its
// approval. For any other draft, it returns the result of AttachmentsOf.
func (s *Store) AttachmentsOfDraft(ctx context.Context, d *Draft) ([]core.Attachment, error) {
	if d.Frozen {
		return s.Attachments(ctx, d.Campaign.CopyID)
	}
	return s.AttachmentsOf(ctx, d.Campaign.TenantID, d.Fields.Attachments)
}

func noMedia(id string) error {
	return core.Invalidf("attachments", "attachments: file %s not found. Use one of the tenant's images or documents.",
		id)
}

func (s *Store) readAttachments(ctx context.Context, found []attachedFile) ([]core.Attachment, error) {
	files := make([]core.Attachment, len(found))
	for i := range found {
		f := s.OpenMedia(ctx, &found[i].MediaFile)
		data, err := io.ReadAll(f)
		if err == nil {
			err = f.Err()
		}
		if err != nil {
			return nil, err
		}
		files[i] = core.Attachment{Name: found[i].Name, Type: found[i].Type, Data: data}
	}
	return files, nil
}

// attached returns the media files to attach to a tenant's campaign. If a file does not belong to the tenant, or the
// total size is too large, it returns an Invalid error on attachments.
func attached(tx *db.Tx, tenantID string, ids []string) (found []attachedFile, err error) {
	total := int64(0)
	for _, id := range ids {
		var f attachedFile
		err := tx.Get(&f, attachedFiles+`m.name FROM media AS m JOIN media_file AS f ON f.no = m.full_no WHERE m.id = ?
			AND m.tenant_id = ?`, id, tenantID)
		if errors.Is(err, core.ErrNotFound) {
			return nil, noMedia(id)
		}
		if err != nil {
			return nil, err
		}
		f.Name = core.AttachmentName(f.Name, f.Type)
		total += f.Bytes
		found = append(found, f)
	}
	if total > core.MaxAttachmentBytes {
		return nil, core.AttachmentsTooLarge(total)
	}
	return found, nil
}

// attach stores copies of media files for a campaign copy.
func attach(tx *db.Tx, copyID, tenantID string, ids []string) error {
	found, err := attached(tx, tenantID, ids)
	for i := 0; i < len(found) && err == nil; i++ {
		_, err = tx.Exec("INSERT INTO attachment (copy_id, place, name, file_no) VALUES (?, ?, ?, ?)", copyID, i,
			found[i].Name, found[i].No)
	}
	return err
}
