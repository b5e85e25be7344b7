package auth

import (
	"encoding/binary"
	"strings"

	"newsletterd/core"
)

// ViewToken names a mail of a job, for its reader to see it in a browser.
type ViewToken struct {
	JobNo, Seq int64
	IssuedAt   core.Instant // the start of the job, so that a second copy of the mail is equal
}

// Expired reports whether the token has ended.
func (t ViewToken) Expired(now core.Instant) bool { return now >= t.IssuedAt.Add(ViewTTL) }

// AppendView appends the text of the token to dst.
func (s *Sealer) AppendView(dst []byte, t ViewToken) []byte {
	var b [3 * binary.MaxVarintLen64]byte
	plain := binary.AppendUvarint(b[:0], uint64(t.JobNo))
	plain = binary.AppendUvarint(plain, uint64(t.Seq))
	plain = binary.AppendUvarint(plain, uint64(t.IssuedAt))
	return s.AppendSeal(dst, purposeView, plain)
}

// OpenView reads a token of AppendView. Its life is the caller's to judge. Anything else is core.ErrInvalidToken.
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

// PreviewToken names a job as one address would get it, for an operator who tries the job to see it in a browser.
type PreviewToken struct {
	JobNo    int64
	Email    core.Email // empty: a reader of whom nothing is known
	IssuedAt core.Instant
}

// Expired reports whether the token has ended.
func (t PreviewToken) Expired(now core.Instant) bool { return now >= t.IssuedAt.Add(ViewTTL) }

// SealPreview returns the text of the token.
func (s *Sealer) SealPreview(t PreviewToken) string {
	plain := binary.AppendUvarint(nil, uint64(t.JobNo))
	plain = binary.AppendUvarint(plain, uint64(t.IssuedAt))
	return s.Seal(purposePreview, append(plain, t.Email...))
}

// OpenPreview reads a token of SealPreview. Its life is the caller's to judge. Anything else is core.ErrInvalidToken.
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

// DraftToken names a version of a campaign as one address would get it, for those who are to look at it before it is
// sent. With a digest it shows that content alone, however the campaign changes.
type DraftToken struct {
	CampaignID string
	Version    int64
	Email      core.Email // empty: a reader of whom nothing is known
	IssuedAt   core.Instant
	Seen       core.Digest // empty: whatever the version says then
}

// Expired reports whether the token has ended.
func (t DraftToken) Expired(now core.Instant) bool { return now >= t.IssuedAt.Add(DraftTTL) }

// SealDraft returns the text of the token.
func (s *Sealer) SealDraft(t DraftToken) string {
	plain := binary.AppendUvarint(nil, uint64(t.Version))
	plain = binary.AppendUvarint(plain, uint64(t.IssuedAt))
	plain = binary.AppendUvarint(plain, uint64(len(t.CampaignID)))
	plain = append(append(plain, t.CampaignID...), t.Email...)
	if t.Seen != "" {
		plain = append(append(plain, 0), t.Seen...) // no address has a NUL
	}
	return s.Seal(purposeDraft, plain)
}

// OpenDraft reads a token of SealDraft. Its life is the caller's to judge. Anything else is core.ErrInvalidToken.
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

// RecordsToken names a sender domain, for who keeps its records to see them without signing in.
type RecordsToken struct {
	DomainID string
	IssuedAt core.Instant
}

// Expired reports whether the token has ended.
func (t RecordsToken) Expired(now core.Instant) bool { return now >= t.IssuedAt.Add(RecordsTTL) }

// SealRecords returns the text of the token.
func (s *Sealer) SealRecords(t RecordsToken) string {
	return s.Seal(purposeRecords, append(binary.AppendUvarint(nil, uint64(t.IssuedAt)), t.DomainID...))
}

// OpenRecords reads a token of SealRecords. Its life is the caller's to judge. Anything else is core.ErrInvalidToken.
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
