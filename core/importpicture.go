package core

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"path"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The states of an ImportedPicture.
const (
	PictureListed   = "listed"   // not shown in any issue yet
	PictureWaiting  = "waiting"  // waiting to be copied
	PictureStored   = "stored"   // copied to the tenant's images
	PictureFailed   = "failed"   // not copied; issues load it from its address
	PictureRemoving = "removing" // its issues were removed; its copy is next
)

// The reasons why an image could not be copied.
const (
	PictureNotFound    = "not_found"    // status 404 or 410
	PictureBadStatus   = "bad_status"   // any other status except 200
	PictureTooLarge    = "too_large"    // in bytes or pixels
	PictureNotImage    = "not_an_image" // content of another type
	PictureUnsupported = "unsupported"  // an image that emails can't show, such as SVG
	PictureDamaged     = "damaged"
	PictureNotPublic   = "not_public"   // an address in a private network
	PictureUnreachable = "unreachable"  // no connection, or no complete answer in time
	PictureRedirects   = "redirects"    // too many
	PictureBadAddress  = "bad_address"  // neither http nor https, or without a host
	PictureStorageFull = "storage_full" // the tenant's images have reached the limit
	PictureNoSite      = "no_site"      // a relative address, and the address of the site is unknown
)

// Limits of exported posts and their images.
const (
	MaxImportedPictures = 5000      // per import
	MaxPostBytes        = 256 << 20 // per import, of posts as sanitized HTML
	MaxTenantPostBytes  = 512 << 20 // of a tenant's stored posts, and separately of its imported issues
	maxPictureAddress   = 4096      // bytes
)

// ImportedPicture is an image in the posts of an export.
type ImportedPicture struct {
	No      int64  `db:"no" json:"no" about:"Number of the image in the import"`
	Address string `db:"address" json:"address" about:"URL in the posts; of an embedded image, its type and the SHA-256 of its data"`
	State   string `db:"state" json:"state" enum:"listed|waiting|stored|failed|removing" about:"listed: its post isn't published yet; waiting: will be copied"`
	Reason  string `db:"reason" json:"reason,omitempty" enum:"not_found|bad_status|too_large|not_an_image|unsupported|damaged|not_public|unreachable|redirects|bad_address|storage_full|no_site" about:"Why the image couldn't be copied; absent: it didn't fail"`
	MediaID string `db:"media_id" json:"media_id,omitempty" about:"ID of the image in your media; absent until it is copied"`
}

// PictureCounts holds the number of images in those posts of an import that became issues.
type PictureCounts struct {
	Waiting int64 `db:"waiting" json:"waiting" about:"Images to be copied"`
	Stored  int64 `db:"stored" json:"stored" about:"Images copied to the tenant's media"`
	Failed  int64 `db:"failed" json:"failed" about:"Images that couldn't be copied; issues still show them from their old address"`
}

// ImportedIssue is an archive issue that was originally published with another tool.
type ImportedIssue struct {
	No     int64   `db:"no" json:"-"`
	Slug   string  `db:"slug" json:"slug" about:"Path of the issue below that of the archive"`
	Title  string  `db:"title" json:"title" about:"Title of the issue"`
	SentAt Instant `db:"sent_at" json:"sent_at" about:"Time of publication"`
	Source string  `db:"source" json:"source" about:"Tool it was published with; empty: unknown"`
	Author string  `db:"author" json:"author" about:"Name of the author; empty: unknown"`
}

// Cursor returns the key for the page of issues that starts after i.
func (i *ImportedIssue) Cursor() string {
	return strconv.FormatInt(int64(i.SentAt), 10) + "." + strconv.FormatInt(i.No, 10)
}

// PictureKey returns an image's address in the form that ImportedPicture stores. If the address is too long, PictureKey
// returns an empty string.
func PictureKey(address string) string {
	if head, data, ok := strings.Cut(address, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		sum := sha256.Sum256([]byte(data))
		return head + ";sha256=" + hex.EncodeToString(sum[:])
	}
	if len(address) > maxPictureAddress {
		return ""
	}
	return address
}

// PictureName returns the name to give a copied image: the last part of its address.
func PictureName(address string) string {
	u, err := url.Parse(address)
	if err != nil || u.Path == "" {
		return "picture"
	}
	name := path.Base(u.Path)
	if inner, err := url.QueryUnescape(name); err == nil && strings.Contains(inner, "/") { // an address in a path
		name = path.Base(inner)
	}
	name = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == utf8.RuneError {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if all := []rune(name); len(all) > 100 {
		name = string(all[:100])
	}
	if name = strings.TrimSpace(name); name == "" || name == "." || name == "/" {
		return "picture"
	}
	return name
}

// PostsFull returns the error for posts that don't fit into limit, the maximum total size of the posts in a tenant's
// imports.
func PostsFull(limit int64) *Error {
	return tooLargef("The storage for imported posts is full (limit: %s). Delete imports with posts, or wait: the "+
		"space is freed a week after an import ends.", ByteSize(limit))
}

// IssuesFull returns the error for posts that don't fit into limit, the maximum total size of a tenant's imported
// issues.
func IssuesFull(limit int64) *Error {
	return tooLargef("The storage for imported issues is full (limit: %s). Remove some of them from the archive.",
		ByteSize(limit))
}
