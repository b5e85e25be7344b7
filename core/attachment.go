package core

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Most of what the mails of a campaign may bring along.
const (
	MaxAttachments     = 10      // files
	MaxAttachmentBytes = 5 << 20 // of all of them
)

// Attachment is a file that the mails of a campaign bring along.
type Attachment struct {
	Name string // as readers see it: AttachmentName
	Type string // media type
	Data []byte
}

// AttachmentsTooLarge is the error for attachments of more than MaxAttachmentBytes.
func AttachmentsTooLarge(bytes int64) *Error {
	return Invalidf("attachments", "The attachments are too large: together they may have %s, but have %s. "+
		"Remove some or use smaller files.", ByteSize(MaxAttachmentBytes), ByteSize(bytes))
}

const maxAttachmentName = 80 // bytes, without the ending

// AttachmentName returns the name of a file of media as readers see it: in its own letters, with the ending of its
// type, and without what no file system takes.
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
