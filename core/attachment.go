package core

// Most of what the mails of a campaign may bring along.
const (
	MaxAttachments     = 10      // files
	MaxAttachmentBytes = 5 << 20 // of all of them
)

// Attachment is a file that the mails of a campaign bring along.
type Attachment struct {
	Name string // as readers see it: letters, digits, hyphens and an ending
	Type string // media type
	Data []byte
}

// AttachmentsTooLarge is the error for attachments of more than MaxAttachmentBytes.
func AttachmentsTooLarge(bytes int64) *Error {
	return Invalidf("attachments", "attachments may have %d bytes together; these have %d.", MaxAttachmentBytes, bytes)
}
