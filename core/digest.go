package core

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash"
	"strings"
)

// The parts of what an approval covers that can change without the campaign: the words of ContentChange.What.
const (
	ChangedCampaign = "campaign" // what the campaign says itself
	ChangedTheme    = "theme"
	ChangedLayout   = "layout"   // the template around the content, or the layout around that
	ChangedSettings = "settings" // of the tenant: its name, sender, brand, postal address, links or tracking
	ChangedLists    = "lists"    // their names or languages, or whom they let a campaign go to
	ChangedMedia    = "media"    // attachments and pictures
	ChangedPlan     = "plan"     // who gets it first, and when
	ChangedProgram  = "program"  // the same records are compiled to something else
)

// digestParts are the parts of a digest, in their order.
var digestParts = []string{
	ChangedTheme, ChangedLayout, ChangedSettings, ChangedLists, ChangedMedia, ChangedPlan,
}

// ContentChange says what has changed in a campaign since it was looked at, and who changed it.
type ContentChange struct {
	What   string  `json:"what" enum:"campaign|theme|layout|settings|lists|media|plan|program"`
	ID     string  `json:"id,omitempty"`   // of the record that was changed last; absent: it isn't known
	Name   string  `json:"name,omitempty"` // of that record
	By     string  `json:"by,omitempty"`
	ByName string  `json:"by_name,omitempty"` // of the user whom by names
	At     Instant `json:"at,omitzero"`
}

// CoveredFile is a file that mails of a campaign bring along.
type CoveredFile struct {
	Name   string `db:"name"`
	SHA256 string `db:"sha256"`
}

// Covered is all that an approval covers: what recipients see, and who they are. What decides who gets a mail of which
// content stands in here as it is applied, such as a rule with its references resolved: a name alone would hide changes.
type Covered struct {
	Copy        *CampaignCopy
	Frozen      *FrozenContent // with its template resolved
	Fields      *CampaignFields
	Attachments []CoveredFile
	Pictures    []string // of those of ours that mails show, the digits of the files that are there
	MailedProof []bool   // of each list: only subscribers who confirmed by a mailed link get it
	WantedAt    Instant  // of the review
	FirstFew    bool     // some recipients get it first, unless the sender says otherwise

	Tenant *Tenant

	// Only to say what has changed: the copy has what they make of it.
	Theme *Theme // the tenant's own; nil: a built-in one
	List  *List  // the first one
}

// Digest names the bytes of what an approval covers. It has a fingerprint of each part after it, which tell what has
// changed; they are too short to prove anything. It has the characters of base64url.
type Digest string

const (
	sumBytes         = 16 // of SHA-256: the editor who looks for another content of the same digest tries 2^128
	fingerprintBytes = 3
)

// lengths of the encoded parts.
var sumLength, fingerprintLength = base64.RawURLEncoding.EncodedLen(sumBytes),
	base64.RawURLEncoding.EncodedLen(fingerprintBytes)

// hashed is a hash of texts of which none can be taken for the end of another.
type hashed struct{ hash.Hash }

func (h hashed) add(texts ...string) {
	var length [8]byte
	for _, text := range texts {
		binary.BigEndian.PutUint64(length[:], uint64(len(text)))
		h.Write(length[:])
		h.Write([]byte(text))
	}
}

func (h hashed) list(texts []string) {
	h.add(jsonOf(len(texts)))
	h.add(texts...)
}

// text returns the first bytes of the hash.
func (h hashed) text(n int) string { return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:n]) }

func jsonOf(v any) string {
	b, _ := json.Marshal(v) // of texts, numbers and flags
	return string(b)
}

// Digest returns the digest of what is covered.
func (c *Covered) Digest() Digest {
	f, sum := c.Frozen, hashed{sha256.New()}
	sum.add(c.Copy.Name, c.Copy.Subject, c.Copy.BodyHTML, c.Copy.BodyText, c.Copy.Template, c.Copy.UnsubscribeURL,
		jsonOf([]bool{
			c.Copy.TrackOpen && !c.Tenant.NoTracking, c.Copy.TrackClick && !c.Tenant.NoTracking, c.Copy.Totals,
			c.Tenant.TrackingConsent,
		}), c.Tenant.PublicURL, c.Tenant.PrivacyURL, jsonOf(c.MailedProof))
	sum.add(f.ListName, f.TenantName, f.PostalAddress, f.Language, f.MailFrom, f.FromName, f.ReplyTo, f.TemplateName,
		f.TemplateHTML, f.TemplateText, f.LayoutHTML, f.LayoutText)
	sum.list(f.ListNames)
	sum.list(c.Fields.ListIDs)
	sum.add(c.Fields.Narrowing.Column(), jsonOf(c.Attachments), jsonOf(c.Pictures), c.plan())
	out := sum.text(sumBytes)
	for _, part := range digestParts {
		one := hashed{sha256.New()}
		one.add(c.part(part)...)
		out += one.text(fingerprintBytes)
	}
	return Digest(out)
}

func (c *Covered) plan() string { return jsonOf([]any{int64(c.WantedAt), c.FirstFew}) }

// part returns what is told apart of a part.
func (c *Covered) part(name string) []string {
	f := c.Frozen
	switch name {
	case ChangedTheme:
		if c.Theme == nil {
			return nil
		}
		looks := *c.Theme
		looks.ID, looks.Name, looks.CreatedAt, looks.UpdatedAt = "", "", 0, 0
		return []string{jsonOf(looks)}
	case ChangedLayout:
		return []string{f.TemplateHTML, f.TemplateText, f.LayoutHTML, f.LayoutText}
	case ChangedSettings:
		t := c.Tenant
		return []string{
			t.Name, t.PostalAddress, f.MailFrom, f.FromName, f.ReplyTo, t.Language, t.PublicURL, t.BrandName, t.BrandColor,
			t.BrandLogoURL, t.PrivacyURL, jsonOf([]bool{t.NoTracking, t.TrackingConsent}),
		}
	case ChangedLists:
		return append([]string{f.ListName, c.List.Language, jsonOf(c.MailedProof)}, f.ListNames...)
	case ChangedMedia:
		return []string{jsonOf(c.Attachments), jsonOf(c.Pictures)}
	}
	return []string{c.plan()}
}

// Same reports whether two digests name the same bytes.
func (d Digest) Same(other Digest) bool { return d.sum() != "" && d.sum() == other.sum() }

func (d Digest) sum() string {
	if len(d) < sumLength {
		return ""
	}
	return string(d[:sumLength])
}

// Changed returns in which parts another digest differs; ChangedProgram where it is in none that is known.
func (d Digest) Changed(now Digest) (parts []string) {
	before, after := strings.TrimPrefix(string(d), d.sum()), strings.TrimPrefix(string(now), now.sum())
	for _, part := range digestParts {
		was, is := before[:min(fingerprintLength, len(before))], after[:min(fingerprintLength, len(after))]
		if was != is {
			parts = append(parts, part)
		}
		before, after = before[len(was):], after[len(is):]
	}
	if len(parts) == 0 {
		parts = []string{ChangedProgram}
	}
	return parts
}

// ChangedContent is the error of an approval of something that has changed since it was looked at.
func ChangedContent(changes []ContentChange) *Error {
	return &Error{
		Kind: PreconditionFailed, Code: "changed_meanwhile", Changes: changes,
		Message: "The content has changed since you reviewed it. Review it again.",
	}
}
