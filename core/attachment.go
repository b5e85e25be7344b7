package core

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a campaign's attachments.
const (
	MaxAttachments     = 10      // files
	MaxAttachmentBytes = 5 << 20 // total bytes of all files
)

// Attachment is a file attached to a campaign's emails.
type Attachment struct {
	Name string // as shown to subscribers; see AttachmentName
	Type string // media type
	Data []byte
}

// AttachmentsTooLarge returns the error for attachments whose total size, in bytes, exceeds MaxAttachmentBytes.
func AttachmentsTooLarge(bytes int64) *Error {
	return Invalidf("attachments", "Attachments can have at most %s in total, but these have %s. Remove some, or use "+
		"smaller files.", ByteSize(MaxAttachmentBytes), ByteSize(bytes))
}

const maxAttachmentName = 80 // bytes, without the extension

// AttachmentName returns an attachment's file name. It keeps the name's original script, removes characters that file
// systems refuse, and adds the extension for the media type.
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
