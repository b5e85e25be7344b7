package core

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of the attachments of a campaign.
const (
	MaxAttachments     = 10      // files
	MaxAttachmentBytes = 5 << 20 // bytes of all files together
)

// Attachment is a file attached to the emails of a campaign.
type Attachment struct {
	Name string // as shown to subscribers; see AttachmentName
	Type string // media type
	Data []byte
}

// AttachmentsTooLarge returns the error for attachments whose total size, bytes, exceeds MaxAttachmentBytes.
func AttachmentsTooLarge(bytes int64) *Error {
	return Invalidf("attachments", "Attachments can have at most %s in total, but these have %s. Remove some, or use "+
		"smaller files.", ByteSize(MaxAttachmentBytes), ByteSize(bytes))
}

const maxAttachmentName = 80 // bytes, without the extension

// AttachmentName returns the file name of an attachment: the name of the media in its own script, without characters
// that file systems refuse, and with the extension of its type.
func AttachmentName(name, mediaType string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsGraphic(r) || strings.ContainsRune(`/\:*?"<>|`, r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, withoutEnding(name))
	name = strings.Trim(strings.Join(strings.Fields(name), " "), ". ")
	for len(name) > maxAttachmentName {
		_, size := utf8.DecodeLastRuneInString(name)
		name = strings.TrimRight(name[:len(name)-size], ". ")
	}
	if name == "" {
		return MediaFileName("", mediaType)
	}
	return name + mediaEndings[mediaType]
}
