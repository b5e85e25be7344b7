package core

import (
	"slices"
	"strings"
)

// PDF is the media type of documents. Documents are stored unchanged and can be attached to emails.
const PDF = "application/pdf"

// Media is an image or a document that a tenant stores for its emails.
type Media struct {
	ID         string    `db:"id"`
	TenantID   string    `db:"tenant_id"`
	Name       string    `db:"name"`
	Mail       MediaFile `db:"mail"` // version shown in emails
	Full       MediaFile `db:"full"` // largest stored version; same as Mail if not larger
	Alt        string    `db:"alt"`
	Decorative bool      `db:"decorative"` // purely decorative, so an empty alt is correct
	CreatedBy  string    `db:"created_by"`
	CreatedAt  Instant   `db:"created_at"`
	UpdatedAt  Instant   `db:"updated_at"`
}

// MediaFile is a stored image file. A tenant's identical files are stored once.
type MediaFile struct {
	No     int64  `db:"no"`
	SHA256 string `db:"sha256"` // of the file, hex
	Type   string `db:"type"`   // media type
	Width  int    `db:"width"`  // pixels
	Height int    `db:"height"` // pixels
	Bytes  int64  `db:"bytes"`  // size of the file
	Data   []byte `db:"-"`      // content of a new file
}

// MediaView is an image as shown by the API and commands. URL, size and number of bytes describe the file that emails
// show.
type MediaView struct {
	ID       string `json:"id"`
	TenantID string `json:"tenant_id"`
	Name     string `json:"name"`
	MediaFileView
	Type       string         `json:"type" enum:"image/jpeg|image/png|image/gif|application/pdf" about:"Media type of the file"`
	Alt        string         `json:"alt" about:"Alternative text; empty: none"`
	Decorative bool           `json:"decorative" about:"Whether the image needs no alternative text"`
	Full       *MediaFileView `json:"full,omitempty" about:"Larger version for web pages; absent: there is none"`
	CreatedBy  string         `json:"created_by"`
	CreatedAt  Instant        `json:"created_at"`
	UpdatedAt  Instant        `json:"updated_at"`
}

// MediaFileView is a stored image file, as the API shows it.
type MediaFileView struct {
	URL    string `json:"url" about:"Public URL of the file"`
	Width  int    `json:"width"`  // pixels
	Height int    `json:"height"` // pixels
	Bytes  int64  `json:"bytes"`  // size of the file
}

// View returns the image as the API shows it, with URLs at the given origin.
func (m *Media) View(origin string) MediaView {
	file := func(f *MediaFile) MediaFileView {
		return MediaFileView{origin + f.Path(m.Name), f.Width, f.Height, f.Bytes}
	}
	v := MediaView{
		ID: m.ID, TenantID: m.TenantID, Name: m.Name, MediaFileView: file(&m.Mail), Type: m.Mail.Type, Alt: m.Alt,
		Decorative: m.Decorative, CreatedBy: m.CreatedBy, CreatedAt: m.CreatedAt, UpdatedAt: m.UpdatedAt,
	}
	if m.Full.No != m.Mail.No {
		full := file(&m.Full)
		v.Full = &full
	}
	return v
}

// MediaLimits limits tenants' images, in bytes.
type MediaLimits struct {
	Bytes          int64 // of one file, both uploaded and stored
	BytesPerTenant int64 // of all files of a tenant
}

// Defaults for MediaLimits, in bytes.
const (
	DefaultMediaBytes          = 10 << 20
	DefaultMediaBytesPerTenant = 1 << 30
)

// TooLarge returns the error for a file that exceeds l.Bytes.
func (l MediaLimits) TooLarge() *Error {
	return (&Error{Kind: TooLarge, Code: "payload_too_large", Field: "file"}).
		Sayf("The image is too large (limit: %s). Save a smaller one.", ByteSize(l.Bytes))
}

// MediaFull returns the error for a file that would exceed l.BytesPerTenant.
func (l MediaLimits) MediaFull(used int64) *Error {
	return tooLargef("The image storage is full (limit: %s, used: %s). Delete some images, or ask the server "+
		"administrator for more space.",
		ByteSize(l.BytesPerTenant), ByteSize(used))
}

// MediaInput holds the fields of an image that a caller sets. A nil field is left unchanged.
type MediaInput struct {
	Name       *string `json:"name" like:"name" max:"200"`
	Alt        *string `json:"alt" like:"line" max:"1000" about:"Alternative text, for people who don't see the image"`
	Decorative *bool   `json:"decorative" about:"Whether the image needs no alternative text; alt must then be empty"`
}

// MaxAlt is the maximum length of an alt text, in characters.
const MaxAlt = 1000

// NewMedia returns a new image for a tenant, without files. Its default name is picture.
func NewMedia(tenantID, createdBy string, in MediaInput, now Instant) (Media, error) {
	m := Media{ID: NewID(), TenantID: tenantID, Name: "picture", CreatedBy: createdBy, CreatedAt: now}
	return m, m.Change(in, now)
}

// Change applies the fields of in. A decorative image has no alt text: marking an image as decorative deletes its alt
// text, and setting an alt text unmarks the image.
func (m *Media) Change(in MediaInput, now Instant) error {
	take(&m.Name, in.Name)
	take(&m.Alt, in.Alt)
	if in.Decorative != nil {
		m.Decorative = *in.Decorative
	}
	m.UpdatedAt = now
	if err := checkName(&m.Name, "name"); err != nil {
		return err
	}
	if err := checkText(&m.Alt, "alt", MaxAlt, false); err != nil {
		return err
	}
	if m.Decorative && m.Alt != "" {
		switch {
		case in.Alt != nil && *in.Alt != "" && in.Decorative != nil:
			return Invalidf("alt", "A decorative image must have an empty alt text. Clear alt, or set decorative to "+
				"false.")
		case in.Decorative != nil:
			m.Alt = ""
		default:
			m.Decorative = false
		}
	}
	return nil
}

// MediaPath is the path prefix for serving images.
const MediaPath = "/m/"

// mediaDigits is the number of hex digits of a file's hash in its URL path. They have 128 bits, which can't be guessed.
const mediaDigits = 32

// Digits returns the digits of the file's hash that its URL path contains.
func (f *MediaFile) Digits() string { return f.SHA256[:min(mediaDigits, len(f.SHA256))] }

// Path returns the file's URL path, for an image with the given name.
func (f *MediaFile) Path(name string) string {
	return MediaPath + f.Digits() + "/" + MediaFileName(name, f.Type)
}

// mediaEndings maps media types to file name extensions.
var mediaEndings = map[string]string{"image/png": ".png", "image/jpeg": ".jpg", "image/gif": ".gif", PDF: ".pdf"}

// pictureEndings lists the file name extensions of images and documents.
var pictureEndings = []string{".png", ".jpg", ".jpeg", ".gif", ".webp", ".pdf"}

const maxMediaFileName = 80 // bytes

// MediaFileName returns a name that is safe in a path: letters, digits, hyphens, and the extension of the type.
func MediaFileName(name, mediaType string) string {
	var b strings.Builder
	for _, r := range withoutEnding(name) {
		switch {
		case r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_':
			b.WriteRune(r)
		case b.Len() > 0 && !strings.HasSuffix(b.String(), "-"):
			b.WriteByte('-')
		}
		if b.Len() == maxMediaFileName {
			break
		}
	}
	if name = strings.Trim(b.String(), "-"); name == "" {
		if name = "picture"; mediaType == PDF {
			name = "document"
		}
	}
	return name + mediaEndings[mediaType]
}

// withoutEnding returns a file name without an image or document extension.
func withoutEnding(name string) string {
	if dot := strings.LastIndexByte(name, '.'); dot > 0 &&
		slices.Contains(pictureEndings, strings.ToLower(name[dot:])) {
		return name[:dot]
	}
	return name
}

// IsMediaDigits reports whether s has the form of a result of Digits.
func IsMediaDigits(s string) bool {
	return len(s) == mediaDigits && strings.Trim(s, "0123456789abcdef") == ""
}

// MediaUse is a record that uses an image.
type MediaUse struct {
	Kind string `db:"kind"` // template, theme, tenant, list, job, campaign, web version or issue
	Name string `db:"name"`
}

// ErrMediaUsed returns the Conflict error for deleting an image that is in use.
func ErrMediaUsed(uses []MediaUse) *Error {
	more := ""
	if len(uses) > 1 {
		more = " and others"
	}
	return Conflictf("media_in_use", "The %s %q%s uses this image. Remove it there, or delete it anyway with "+
		"force=true.", uses[0].Kind, uses[0].Name, more)
}
