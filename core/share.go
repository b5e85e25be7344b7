package core

// Share lets one person see a model: the user with the given id, or the user who verified the given address. A share by
// address never reveals whether such a user exists.
type Share struct {
	ID         string  `json:"id" db:"id"`
	ModelID    string  `json:"model_id" db:"model_id"`
	UserID     string  `json:"user_id,omitempty" db:"user_id" about:"User who may see the model; absent: email says who"`
	Email      Email   `json:"email,omitempty" db:"email" about:"Address whose verified owner may see the model, as you typed it"`
	Permission string  `json:"permission" db:"permission" enum:"read" about:"Always read"`
	CreatedAt  Instant `json:"created_at" db:"created_at"`
}

// PermissionRead is the only permission of a share.
const PermissionRead = "read"

// MaxShares is the maximum number of shares per model.
const MaxShares = 500

// ShareInput holds the fields of a share that an owner sets. Nil means not given.
type ShareInput struct {
	UserID     *string `json:"user_id" is:"uuid" about:"User who may see the model; set either this or email"`
	Email      *Email  `json:"email" about:"Address whose verified owner may see the model; set either this or user_id"`
	Permission *string `json:"permission" enum:"read" about:"Always read"`
}

// JudgeKeys returns an error for a request with unknown keys. It ignores read-only keys of a share.
func (in *ShareInput) JudgeKeys(unknown []string) error {
	return JudgeChange[ShareInput, Share](unknown)
}

// NewShare returns a new share that lets the person in in see a model. The person is named by user id or by address,
// and must not be the owner.
func NewShare(m *Model, in ShareInput, owner Caller, now Instant) (Share, error) {
	s := Share{ID: NewID(), ModelID: m.ID, Permission: PermissionRead, CreatedAt: now}
	switch {
	case (in.UserID == nil) == (in.Email == nil):
		return s, Invalidf("user_id", "Set either user_id or email.")
	case in.UserID != nil:
		s.UserID = *in.UserID
	default:
		s.Email = *in.Email
	}
	if (s.UserID != "" && s.UserID == m.OwnerID) || (s.Email != "" && s.Email.Key() == owner.Email.Key()) {
		return s, Invalidf("", "The owner already has access. Share the model with someone else.")
	}
	return s, s.Change(ShareInput{Permission: in.Permission})
}

// Change sets the share's fields from in. The person can't be changed.
func (s *Share) Change(in ShareInput) error {
	if in.UserID != nil && *in.UserID != s.UserID {
		return Invalidf("user_id", "user_id can't be changed. Leave it out.")
	}
	if in.Email != nil && in.Email.Key() != s.Email.Key() {
		return Invalidf("email", "email can't be changed. Leave it out.")
	}
	take(&s.Permission, in.Permission)
	if s.Permission != PermissionRead {
		return Invalidf("permission", "permission must have the value read.")
	}
	return nil
}

// HeldBy reports whether the share names the caller, by user id or by an address that the caller has verified.
func (s *Share) HeldBy(who Caller) bool {
	if who.UserID == "" {
		return false
	}
	return s.UserID == who.UserID || (s.Email != "" && who.EmailVerified && s.Email.Key() == who.Email.Key())
}

func tooLargef(format string, args ...any) *Error {
	return (&Error{Kind: TooLarge, Code: "payload_too_large"}).Sayf(format, args...)
}
