package core

import (
	"mime"
	"slices"
	"strings"
)

// Model is a file that a user keeps here and may let others have.
type Model struct {
	No          int64      `json:"-" db:"no"` // the place in the library: newer models have greater numbers
	ID          string     `json:"id" db:"id"`
	OwnerID     string     `json:"owner_id" db:"owner_id"`
	FileNo      int64      `json:"-" db:"file_no"`
	Name        string     `json:"name" db:"name"`
	Description string     `json:"description" db:"description"`
	Visibility  Visibility `json:"visibility" db:"visibility" enum:"private|tenant|public"`
	Size        int64      `json:"size" db:"size"`     // bytes
	SHA256      string     `json:"sha256" db:"sha256"` // of the file, hex
	ContentType string     `json:"content_type" db:"content_type"`
	CreatedAt   Instant    `json:"created_at" db:"created_at"`
	UpdatedAt   Instant    `json:"updated_at" db:"updated_at"`
}

// Visibility says who may see a model, in addition to its owner and those whom it is shared with.
type Visibility string

// The visibilities. A model is private unless its owner says otherwise.
const (
	Private        Visibility = "private"
	TenantVisible  Visibility = "tenant"
	PublicVisible  Visibility = "public"
	maxDescription            = 4000 // characters
)

// ErrInvalidVisibility is returned for a word that is no visibility.
var ErrInvalidVisibility = &Error{
	Kind: Invalid, Code: "invalid_visibility",
	Message: "visibility must be private, tenant or public.", Field: "visibility",
}

// ErrNotOwner is returned to a caller who may see a model, for what only its owner may do.
var ErrNotOwner = Forbiddenf("Only the owner can do this.")

// ParseVisibility reads a visibility; anything else is ErrInvalidVisibility.
func ParseVisibility(s string) (Visibility, error) {
	switch v := Visibility(s); v {
	case Private, TenantVisible, PublicVisible:
		return v, nil
	}
	return "", ErrInvalidVisibility
}

// ModelInput is what a caller tells about a file; empty texts are left out.
type ModelInput struct {
	Name        string
	Description string
	Visibility  string // empty: private
	ContentType string // empty or malformed: application/octet-stream
}

// NewModel makes a model of a user, yet without its file.
func NewModel(ownerID string, in ModelInput, now Instant) (m Model, err error) {
	m = Model{
		ID: NewID(), OwnerID: ownerID, Name: in.Name, Description: in.Description, Visibility: Private,
		ContentType: contentType(in.ContentType), CreatedAt: now, UpdatedAt: now,
	}
	if in.Visibility != "" {
		if m.Visibility, err = ParseVisibility(in.Visibility); err != nil {
			return m, err
		}
	}
	if err := checkName(&m.Name, "name"); err != nil {
		return m, err
	}
	return m, checkText(&m.Description, "description", maxDescription, true)
}

// ModelChange is what an owner wants a model to be called; nil leaves a text as it is.
type ModelChange struct {
	Name        *string `json:"name" like:"name" max:"200"`
	Description *string `json:"description" like:"text" max:"4000"`
}

// JudgeKeys refuses the keys of a body that no model has, and visibility, which is changed in another way.
func (in *ModelChange) JudgeKeys(unknown []string) error {
	if slices.Contains(unknown, "visibility") {
		return Invalidf("visibility", "visibility can't be changed here. Send it to /api/models/ID/visibility.")
	}
	return JudgeChange[ModelChange, Model](unknown)
}

// Change takes over what the input holds.
func (m *Model) Change(in ModelChange, now Instant) error {
	take(&m.Name, in.Name)
	take(&m.Description, in.Description)
	m.UpdatedAt = now
	if err := checkName(&m.Name, "name"); err != nil {
		return err
	}
	return checkText(&m.Description, "description", maxDescription, true)
}

// contentType is a media type as it may stand in a header.
func contentType(s string) string {
	const unknown = "application/octet-stream"
	media, params, err := mime.ParseMediaType(s)
	if err != nil || !strings.Contains(media, "/") || len(s) > 255 {
		return unknown
	}
	if t := mime.FormatMediaType(media, params); t != "" {
		return t
	}
	return unknown
}

// CanView is the access rule for profile and download: the owner, the holder of a share, everyone where the model is
// public, and whom the tenant rule lets in. shared reports whether who holds a share of this model. Who may not view a
// model is answered as if it did not exist.
func (m *Model) CanView(who Caller, shared bool) bool {
	return m.OwnedBy(who) || shared || m.Visibility == PublicVisible || m.tenantMayView(who)
}

// OwnedBy reports whether the caller is the owner.
func (m *Model) OwnedBy(who Caller) bool { return who.UserID != "" && who.UserID == m.OwnerID }

// tenantMayView reports whether the tenant rule lets the caller in. It lets no one in: users belong to no tenant.
func (m *Model) tenantMayView(Caller) bool { return false }

// CanEdit is nil for the owner, ErrNotOwner for others who may view the model, and ErrNotFound for the rest.
func (m *Model) CanEdit(who Caller, shared bool) error {
	switch {
	case m.OwnedBy(who):
		return nil
	case m.CanView(who, shared):
		return ErrNotOwner
	}
	return ErrNotFound
}

// ModelLimits bounds what one upload, one owner and all owners may bring.
type ModelLimits struct {
	Bytes         int64 // of one model
	BytesPerOwner int64 // of all models of one owner, those on their way in included
	BytesTotal    int64 // of all models; 0: half of the disk that the database is on
	PerOwner      int   // number of models; 0: no limit
}

// Defaults of ModelLimits.
const (
	DefaultModelBytes         = 512 << 20
	DefaultModelBytesPerOwner = 4 << 30
	DefaultModelsPerOwner     = 1000
)

// ErrUnverifiedUpload is returned to a user who uploads before the address of the account is verified.
var ErrUnverifiedUpload = Forbiddenf("Verify your email address before you upload files.")

// OwnerHas returns a Conflict if an owner of n models may have no more.
func (l ModelLimits) OwnerHas(n int) error {
	if l.PerOwner > 0 && n >= l.PerOwner {
		return Conflictf("conflict", "An owner can have at most %d models. Delete one first.", l.PerOwner)
	}
	return nil
}

// TooLarge is the error for a file beyond the limit of one model.
func (l ModelLimits) TooLarge() *Error {
	return tooLargef("The model is too large: %s at most.", ByteSize(l.Bytes))
}

// OwnerFull is the error for a file that the owner's models leave no room for.
func (l ModelLimits) OwnerFull() *Error {
	return tooLargef("An owner's models may have %s together. Delete one first.", ByteSize(l.BytesPerOwner))
}

// ModelView is a model as others see it: with its owner's name, never the address.
type ModelView struct {
	Model
	OwnerName string `db:"owner_name"`
	Shared    bool   `db:"shared"` // with the one who asks
}
