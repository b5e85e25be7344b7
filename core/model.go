package core

import (
	"mime"
	"slices"
	"strings"
)

// Model is a file that a user stores in the library and may share with others.
type Model struct {
	No          int64      `json:"-" db:"no"` // position in the library; newer models have higher numbers
	ID          string     `json:"id" db:"id"`
	OwnerID     string     `json:"owner_id" db:"owner_id"`
	FileNo      int64      `json:"-" db:"file_no"`
	Name        string     `json:"name" db:"name"`
	Description string     `json:"description" db:"description" about:"Description; empty: none"`
	Visibility  Visibility `json:"visibility" db:"visibility" enum:"private|tenant|public"`
	Size        int64      `json:"size" db:"size"`     // bytes
	SHA256      string     `json:"sha256" db:"sha256"` // of the file, hex
	ContentType string     `json:"content_type" db:"content_type" about:"Media type of the file"`
	CreatedAt   Instant    `json:"created_at" db:"created_at"`
	UpdatedAt   Instant    `json:"updated_at" db:"updated_at"`
}

// Visibility says who may see a model in addition to its owner and the people it is shared with.
type Visibility string

// The values of Visibility. A model is private unless its owner changes that.
const (
	Private        Visibility = "private"
	TenantVisible  Visibility = "tenant"
	PublicVisible  Visibility = "public"
	maxDescription            = 4000 // characters
)

// ErrInvalidVisibility is returned for an unknown visibility.
var ErrInvalidVisibility = &Error{
	Kind: Invalid, Code: "invalid_visibility",
	Message: "visibility must be private, tenant or public.", Field: "visibility",
}

// ErrNotOwner is returned if a caller may see a model, but only its owner may perform the operation.
var ErrNotOwner = Forbiddenf("Only the owner can do this. Ask the owner.")

// ParseVisibility parses a visibility. For any other string it returns ErrInvalidVisibility.
func ParseVisibility(s string) (Visibility, error) {
	switch v := Visibility(s); v {
	case Private, TenantVisible, PublicVisible:
		return v, nil
	}
	return "", ErrInvalidVisibility
}

// ModelInput holds the fields of an uploaded file. An empty string means that the field was not given.
type ModelInput struct {
	Name        string
	Description string
	Visibility  string // empty means private
	ContentType string // empty or malformed means application/octet-stream
}

// NewModel returns a new model that belongs to the user ownerID, without its file.
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

// ModelChange holds the fields of a model that its owner can change. A nil field is left unchanged.
type ModelChange struct {
	Name        *string `json:"name" like:"name" max:"200"`
	Description *string `json:"description" like:"text" max:"4000" about:"Description, at most 4,000 characters"`
}

// JudgeKeys returns an error if unknown contains keys that a model doesn't have, or visibility, which has its own
// endpoint.
func (in *ModelChange) JudgeKeys(unknown []string) error {
	if slices.Contains(unknown, "visibility") {
		return Invalidf("visibility", "visibility can't be changed here. Send it to /api/models/ID/visibility.")
	}
	return JudgeChange[ModelChange, Model](unknown)
}

// Change sets the model's fields from in.
func (m *Model) Change(in ModelChange, now Instant) error {
	take(&m.Name, in.Name)
	take(&m.Description, in.Description)
	m.UpdatedAt = now
	if err := checkName(&m.Name, "name"); err != nil {
		return err
	}
	return checkText(&m.Description, "description", maxDescription, true)
}

// contentType returns a media type in a form that is safe in a header.
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

// CanView reports whether the caller may see and download the model. Its owner may, callers with a share, and everyone
// if the model is public or the tenant rule permits it. shared is true if the caller holds a share. All others get the
// same response as if the model did not exist.
func (m *Model) CanView(who Caller, shared bool) bool {
	return m.OwnedBy(who) || shared || m.Visibility == PublicVisible || m.tenantMayView(who)
}

// OwnedBy reports whether the caller owns the model.
func (m *Model) OwnedBy(who Caller) bool { return who.UserID != "" && who.UserID == m.OwnerID }

// tenantMayView reports whether the caller may see the model as a member of its tenant. It always returns false,
// because users belong to no tenant.
func (m *Model) tenantMayView(Caller) bool { return false }

// CanEdit returns nil for the owner, ErrNotOwner for others who may view the model, and ErrNotFound for everyone
// else.
func (m *Model) CanEdit(who Caller, shared bool) error {
	switch {
	case m.OwnedBy(who):
		return nil
	case m.CanView(who, shared):
		return ErrNotOwner
	}
	return ErrNotFound
}

// ModelLimits limits the size and number of models. Sizes are in bytes.
type ModelLimits struct {
	Bytes         int64 // of one model
	BytesPerOwner int64 // of all models of one owner, including running uploads
	BytesTotal    int64 // of all models; 0: half of the database's disk
	PerOwner      int   // number of models; 0: no limit
}

// Defaults for ModelLimits. Sizes are in bytes.
const (
	DefaultModelBytes         = 512 << 20
	DefaultModelBytesPerOwner = 4 << 30
	DefaultModelsPerOwner     = 1000
)

// ErrUnverifiedUpload is returned if a user uploads a file before verifying the account's email address.
var ErrUnverifiedUpload = Forbiddenf("Verify your email address before you upload files.")

// OwnerHas returns a Conflict error if an owner who already has n models may not upload another one.
func (l ModelLimits) OwnerHas(n int) error {
	if l.PerOwner > 0 && n >= l.PerOwner {
		return Conflictf("conflict", "An owner can have at most %d models. Delete one first.", l.PerOwner)
	}
	return nil
}

// TooLarge returns the error for a file that exceeds l.Bytes.
func (l ModelLimits) TooLarge() *Error {
	return tooLargef("The model is too large (limit: %s). Upload a smaller one.", ByteSize(l.Bytes))
}

// OwnerFull returns the error for a file that would exceed l.BytesPerOwner.
func (l ModelLimits) OwnerFull() *Error {
	return tooLargef("An owner's models can take up at most %s in total. Delete one first.", ByteSize(l.BytesPerOwner))
}

// ModelView is a model as other users see it, with its owner's name but not the address.
type ModelView struct {
	Model
	OwnerName string `db:"owner_name"`
	Shared    bool   `db:"shared"` // shared with the caller
}
