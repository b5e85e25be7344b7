package core

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"hash"
	"strings"
)

// The values of ContentChange.What: the parts of the content that an approval covers.
const (
	ChangedCampaign = "campaign" // the campaign's content
	ChangedTheme    = "theme"
	ChangedLayout   = "layout"   // the template around the content, or the layout around the template
	ChangedSettings = "settings" // of the tenant: its name, sender, brand, postal address, links or tracking
	ChangedLists    = "lists"    // their names or languages, or who receives emails
	ChangedMedia    = "media"    // attachments and images
	ChangedPlan     = "plan"     // first recipients and deadline
	ChangedSegment  = "segment"  // the rules of its segments
	ChangedProgram  = "program"  // newsletterd itself: the same records compile differently
)

// digestParts lists the parts of a digest in order.
var digestParts = []string{
	ChangedTheme, ChangedLayout, ChangedSettings, ChangedLists, ChangedMedia, ChangedPlan,
	ChangedSegment,
}

// ContentChange is a change to a campaign since the caller last read it.
type ContentChange struct {
	What   string  `json:"what" enum:"campaign|theme|layout|settings|lists|media|plan|segment|program" about:"Part of the campaign that changed; program: newsletterd itself was updated"`
	ID     string  `json:"id,omitempty" about:"ID of the record that changed last; absent: unknown"`
	Name   string  `json:"name,omitempty" about:"Name of that record"`
	By     string  `json:"by,omitempty" about:"Who changed it, such as user:ID; absent: unknown"`
	ByName string  `json:"by_name,omitempty" about:"Name of the user who changed it"`
	At     Instant `json:"at,omitzero" about:"Time of the change; absent: unknown"`
}

// CoveredFile is a file attached to a campaign's emails.
type CoveredFile struct {
	Name   string `db:"name"`
	SHA256 string `db:"sha256"`
}

// Covered holds everything that an approval covers: the content that recipients see, and the data that selects them.
// References are resolved, because the name of a rule, for example, would hide changes to the rule.
type Covered struct {
	Copy        *CampaignCopy
	Frozen      *FrozenContent // with its template resolved
	Fields      *CampaignFields
	Attachments []CoveredFile
	Pictures    []string // hash digits of the stored image files that emails show
	MailedProof []bool   // for each list: only subscribers who confirmed by an emailed link get it
	WantedAt    Instant  // deadline of the review
	Rule        string   // of the segments, inlined; empty: none
	FirstFew    bool     // some recipients get it first, unless the sender decides otherwise

	Tenant *Tenant

	// Used only to name what changed; Copy already contains the effect of both.
	Theme *Theme // the tenant's own theme; nil: a built-in one
	List  *List  // the first list
}

// Digest identifies the content that an approval covers, in base64url. Fingerprints of each part follow, to show which
// part changed. They are too short to prove anything.
type Digest string

const (
	sumBytes         = 16 // of SHA-256: finding other content with the same digest takes 2^128 tries
	fingerprintBytes = 3
)

// Lengths of the encoded parts.
var sumLength, fingerprintLength = base64.RawURLEncoding.EncodedLen(sumBytes),
	base64.RawURLEncoding.EncodedLen(fingerprintBytes)

// hashed is a hash of a sequence of strings. It includes their lengths, so that moving text from one to the next
// changes the hash.
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

// text returns the first n bytes of the hash in base64url.
func (h hashed) text(n int) string { return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:n]) }

func jsonOf(v any) string {
	b, _ := json.Marshal(v) // strings, numbers and booleans always encode
	return string(b)
}

// Digest returns the digest of everything that c covers.
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
	if c.Rule != "" {
		sum.add(c.Rule)
	}
	if len(c.Fields.Polls) > 0 {
		sum.add("polls", jsonOf(c.Fields.Polls))
	}
	out := sum.text(sumBytes)
	for _, part := range digestParts {
		one := hashed{sha256.New()}
		one.add(c.part(part)...)
		out += one.text(fingerprintBytes)
	}
	return Digest(out)
}

func (c *Covered) plan() string { return jsonOf([]any{int64(c.WantedAt), c.FirstFew}) }

// part returns the strings that the fingerprint of the named part is computed from.
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
		all := []string{
			t.Name, t.PostalAddress, f.MailFrom, f.FromName, f.ReplyTo, t.Language, t.PublicURL, t.BrandName, t.BrandColor,
			t.BrandLogoURL, t.PrivacyURL, jsonOf([]bool{t.NoTracking, t.TrackingConsent}),
		}
		if t.BrandDarkLogoURL != "" { // if it is empty, digests from before the field existed stay the same
			all = append(all, t.BrandDarkLogoURL)
		}
		return all
	case ChangedLists:
		return append([]string{f.ListName, c.List.Language, jsonOf(c.MailedProof)}, f.ListNames...)
	case ChangedMedia:
		return []string{jsonOf(c.Attachments), jsonOf(c.Pictures)}
	case ChangedSegment:
		return []string{c.Rule}
	}
	return []string{c.plan()}
}

// Same reports whether two digests identify the same content. Empty digests are never the same.
func (d Digest) Same(other Digest) bool { return d.sum() != "" && d.sum() == other.sum() }

func (d Digest) sum() string {
	if len(d) < sumLength {
		return ""
	}
	return string(d[:sumLength])
}

// Changed returns the parts that changed between the digests d and now. If no known part differs, it returns
// ChangedProgram.
func (d Digest) Changed(now Digest) (parts []string) {
	before, after := strings.TrimPrefix(string(d), d.sum()), strings.TrimPrefix(string(now), now.sum())
	for _, part := range digestParts {
		was, is := before[:min(fingerprintLength, len(before))], after[:min(fingerprintLength, len(after))]
		if was != is && was != "" { // a digest from before that part existed says nothing about it
			parts = append(parts, part)
		}
		before, after = before[len(was):], after[len(is):]
	}
	if len(parts) == 0 {
		parts = []string{ChangedProgram}
	}
	return parts
}

// ChangedContent returns the error for approving content that changed after it was reviewed.
func ChangedContent(changes []ContentChange) *Error {
	return &Error{
		Kind: PreconditionFailed, Code: "changed_meanwhile", Changes: changes,
		Message: "The content has changed since you reviewed it. Review it again.",
	}
}
