package core

// List is a newsletter list.
type List struct {
	ID                 string  `json:"id" db:"id"`
	TenantID           string  `json:"tenant_id" db:"tenant_id"`
	Name               string  `json:"name" db:"name"`
	Status             string  `json:"status" db:"status" enum:"active|inactive"`
	ConfirmToken       string  `json:"confirm_token,omitempty" db:"confirm_token" enum:"live|receipt|trusted"` // empty: the configured default
	RequireMailedProof bool    `json:"require_mailed_proof" db:"require_mailed_proof"`
	SyncRemovesAbsent  bool    `json:"sync_removes_absent" db:"sync_removes_absent"`
	CreatedAt          Instant `json:"created_at" db:"created_at"`
	UpdatedAt          Instant `json:"updated_at" db:"updated_at"`
}

// What the confirm_token in the answer of a subscribe is good for.
const (
	ConfirmLive    = "live"    // it confirms
	ConfirmReceipt = "receipt" // only the mailed token confirms
	ConfirmTrusted = "trusted" // live for callers with newsletter:events.write, else receipt
)

// Active tells whether the list takes subscriptions and send jobs, as far as it is up to the list.
func (l *List) Active() bool { return l.Status == ListActive }

// ListInput is what a caller wants a list to be; nil leaves a field as it is.
type ListInput struct {
	ID                 *string `json:"id"`
	TenantID           *string `json:"tenant_id"`
	Name               *string `json:"name"`
	Status             *string `json:"status" enum:"active|inactive"`
	ConfirmToken       *string `json:"confirm_token"`
	RequireMailedProof *bool   `json:"require_mailed_proof"`
	SyncRemovesAbsent  *bool   `json:"sync_removes_absent"`
}

// NewList makes a list of a tenant. An id in the input is ignored.
func NewList(in ListInput, now Instant) (List, error) {
	l := List{ID: NewID(), Status: ListActive, SyncRemovesAbsent: true, CreatedAt: now}
	take(&l.TenantID, in.TenantID)
	if l.TenantID == "" {
		return l, Invalidf("tenant_id", "tenant_id is missing.")
	}
	in.ID, in.TenantID = nil, nil
	err := l.Change(in, now)
	return l, err
}

// Change takes over what the input holds. A list stays with its tenant.
func (l *List) Change(in ListInput, now Instant) error {
	if in.ID != nil && *in.ID != l.ID {
		return Invalidf("id", "id can't be changed.")
	}
	if in.TenantID != nil && *in.TenantID != l.TenantID {
		return Invalidf("tenant_id", "tenant_id can't be changed.")
	}
	take(&l.Name, in.Name)
	take(&l.Status, in.Status)
	take(&l.ConfirmToken, in.ConfirmToken)
	if in.RequireMailedProof != nil {
		l.RequireMailedProof = *in.RequireMailedProof
	}
	if in.SyncRemovesAbsent != nil {
		l.SyncRemovesAbsent = *in.SyncRemovesAbsent
	}
	l.UpdatedAt = now
	return l.Validate()
}

// Validate checks every field.
func (l *List) Validate() error {
	if err := checkName(&l.Name, "name"); err != nil {
		return err
	}
	if l.Status != ListActive && l.Status != ListInactive {
		return Invalidf("status", "status must be active or inactive.")
	}
	switch l.ConfirmToken {
	case "", ConfirmLive, ConfirmReceipt, ConfirmTrusted:
		return nil
	}
	return Invalidf("confirm_token", "confirm_token must be live, receipt or trusted.")
}
