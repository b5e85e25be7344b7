package auth

import (
	"encoding/binary"
	"strings"

	"newsletterd/core"
)

// ViewToken identifies the email that a job sent to one subscriber, so that the subscriber can view it in a browser.
type ViewToken struct {
	JobNo, Seq int64
	IssuedAt   core.Instant // start of the job, so that a second copy of the email is identical
}

// Expired reports whether the token has expired.
func (t ViewToken) Expired(now core.Instant) bool { return now >= t.IssuedAt.Add(ViewTTL) }

// AppendView appends the sealed token to dst.
func (s *Sealer) AppendView(dst []byte, t ViewToken) []byte {
	var b [3 * binary.MaxVarintLen64]byte
	plain := binary.AppendUvarint(b[:0], uint64(t.JobNo))
	plain = binary.AppendUvarint(plain, uint64(t.Seq))
	plain = binary.AppendUvarint(plain, uint64(t.IssuedAt))
	return s.AppendSeal(dst, purposeView, plain)
}

// OpenView opens a token that AppendView created. The caller must check Expired. For any other text, it returns
// core.ErrInvalidToken.
func (s *Sealer) OpenView(token string) (t ViewToken, err error) {
	plain, err := s.Open(purposeView, token)
	if err != nil {
		return t, err
	}
	for _, field := range [...]*int64{&t.JobNo, &t.Seq, (*int64)(&t.IssuedAt)} {
		v, n := binary.Uvarint(plain)
		if n <= 0 || int64(v) < 0 {
			return t, core.ErrInvalidToken
		}
		*field, plain = int64(v), plain[n:]
	}
	if len(plain) > 0 {
		return t, core.ErrInvalidToken
	}
	return t, nil
}

// PreviewToken identifies the email that a job would send to one address, so that the person who tests the job can view
// it in a browser.
type PreviewToken struct {
	JobNo    int64
	Email    core.Email // empty: a subscriber with no details
	IssuedAt core.Instant
}

// Expired reports whether the token has expired.
func (t PreviewToken) Expired(now core.Instant) bool { return now >= t.IssuedAt.Add(ViewTTL) }

// SealPreview seals the token.
func (s *Sealer) SealPreview(t PreviewToken) string {
	plain := binary.AppendUvarint(nil, uint64(t.JobNo))
	plain = binary.AppendUvarint(plain, uint64(t.IssuedAt))
	return s.Seal(purposePreview, append(plain, t.Email...))
}

// OpenPreview opens a token that SealPreview created. The caller must check Expired. For any other text, it returns
// core.ErrInvalidToken.
func (s *Sealer) OpenPreview(token string) (t PreviewToken, err error) {
	plain, err := s.Open(purposePreview, token)
	if err != nil {
		return t, err
	}
	for _, field := range [...]*int64{&t.JobNo, (*int64)(&t.IssuedAt)} {
		v, n := binary.Uvarint(plain)
		if n <= 0 || int64(v) < 0 {
			return t, core.ErrInvalidToken
		}
		*field, plain = int64(v), plain[n:]
	}
	t.Email = core.Email(plain)
	return t, nil
}

// DraftToken identifies the email of a campaign version for one address, so that reviewers can view it in a browser.
// With a digest, the token is only valid for content with that digest.
type DraftToken struct {
	CampaignID string
	Version    int64
	Email      core.Email // empty: a subscriber with no details
	IssuedAt   core.Instant
	Seen       core.Digest // empty: the current content of the version
}

// Expired reports whether the token has expired.
func (t DraftToken) Expired(now core.Instant) bool { return now >= t.IssuedAt.Add(DraftTTL) }

// SealDraft seals the token.
func (s *Sealer) SealDraft(t DraftToken) string {
	plain := binary.AppendUvarint(nil, uint64(t.Version))
	plain = binary.AppendUvarint(plain, uint64(t.IssuedAt))
	plain = binary.AppendUvarint(plain, uint64(len(t.CampaignID)))
	plain = append(append(plain, t.CampaignID...), t.Email...)
	if t.Seen != "" {
		plain = append(append(plain, 0), t.Seen...) // an address contains no NUL
	}
	return s.Seal(purposeDraft, plain)
}

// OpenDraft opens a token that SealDraft created. The caller must check Expired. For any other text, it returns
// core.ErrInvalidToken.
func (s *Sealer) OpenDraft(token string) (t DraftToken, err error) {
	plain, err := s.Open(purposeDraft, token)
	if err != nil {
		return t, err
	}
	var length int64
	for _, field := range [...]*int64{&t.Version, (*int64)(&t.IssuedAt), &length} {
		v, n := binary.Uvarint(plain)
		if n <= 0 || int64(v) < 0 {
			return t, core.ErrInvalidToken
		}
		*field, plain = int64(v), plain[n:]
	}
	if length > int64(len(plain)) {
		return t, core.ErrInvalidToken
	}
	email, seen, _ := strings.Cut(string(plain[length:]), "\x00")
	t.CampaignID, t.Email, t.Seen = string(plain[:length]), core.Email(email), core.Digest(seen)
	return t, nil
}

// RecordsToken identifies a sender domain, so that the person who publishes its DNS records can see them without
// signing in.
type RecordsToken struct {
	DomainID string
	IssuedAt core.Instant
}

// Expired reports whether the token has expired.
func (t RecordsToken) Expired(now core.Instant) bool { return now >= t.IssuedAt.Add(RecordsTTL) }

// SealRecords seals the token.
func (s *Sealer) SealRecords(t RecordsToken) string {
	return s.Seal(purposeRecords, append(binary.AppendUvarint(nil, uint64(t.IssuedAt)), t.DomainID...))
}

// OpenRecords opens a token that SealRecords created. The caller must check Expired. For any other text, it returns
// core.ErrInvalidToken.
func (s *Sealer) OpenRecords(token string) (t RecordsToken, err error) {
	plain, err := s.Open(purposeRecords, token)
	if err != nil {
		return t, err
	}
	at, n := binary.Uvarint(plain)
	if n <= 0 || int64(at) < 0 {
		return t, core.ErrInvalidToken
	}
	return RecordsToken{string(plain[n:]), core.Instant(at)}, nil
}
