package core

import (
	"bytes"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The types of OAuth clients (RFC 6749 section 2.1).
const (
	ClientPublic       = "public"
	ClientConfidential = "confidential"
)

// Client is an OAuth client.
type Client struct {
	ID           string  `json:"id" db:"id"`
	TenantID     string  `json:"tenant_id,omitempty" db:"tenant_id" about:"ID of the tenant; absent: the client belongs to the server"`
	Name         string  `json:"name" db:"name"`
	RedirectURIs Strings `json:"redirect_uris" db:"redirect_uris"`
	ClientType   string  `json:"client_type" db:"client_type" enum:"public|confidential"`
	Scopes       Strings `json:"scopes" db:"scopes"`
	GrantTypes   Strings `json:"grant_types" db:"grant_types"`
	// empty means Basic or post
	AuthMethod             string  `json:"token_endpoint_auth_method,omitempty" db:"token_endpoint_auth_method" about:"none for public clients; client_secret_basic or client_secret_post for confidential ones; absent: both"`
	PostLogoutRedirectURIs Strings `json:"post_logout_redirect_uris" db:"post_logout_redirect_uris"`
	FirstParty             bool    `json:"first_party" db:"first_party"`
	IDTokenAlg             string  `json:"id_token_signed_response_alg" db:"id_token_signed_response_alg" enum:"RS256|ES256"`
	// IDTokenClaims adds the name and email claims of the granted scopes to the ID token. Userinfo always has them.
	IDTokenClaims bool    `json:"id_token_claims" db:"id_token_claims"`
	RequirePKCE   bool    `json:"require_pkce" db:"require_pkce"`
	CreatedBy     string  `json:"created_by,omitempty" db:"created_by"` // actor name as in the audit log
	DisabledAt    Instant `json:"disabled_at,omitzero" db:"disabled_at"`
	CreatedAt     Instant `json:"created_at" db:"created_at"`
	UpdatedAt     Instant `json:"updated_at" db:"updated_at"`
	SecretHash    []byte  `json:"-" db:"secret_hash"` // SHA-256; empty for a public client
	OldSecretHash []byte  `json:"-" db:"old_secret_hash"`
	// when the old secret expires
	OldSecretUntil Instant `json:"old_secret_until,omitzero" db:"old_secret_until"`
	Suspended      bool    `json:"-" db:"suspended"` // its tenant is suspended; set by store.Client
	// name or address of the user who created it; not set for clients read for a change
	CreatedByName string `json:"created_by_name,omitempty" db:"created_by_name"`
	// actors who created the client or changed its secret, addresses or permissions, as named in the audit log; not
	// set for clients read for a change
	Keepers Strings `json:"keepers,omitempty" db:"keepers"`
}

// ClientInput holds the fields of a client that a caller sets. A nil field is left unchanged.
type ClientInput struct {
	ID                     *string   `json:"id" like:"readonly"`
	TenantID               *string   `json:"tenant_id" about:"Tenant of the client; empty, for server administrators: the server's own client"`
	Name                   *string   `json:"name" like:"name" max:"200"`
	RedirectURIs           *[]string `json:"redirect_uris" max:"20"`
	ClientType             *string   `json:"client_type" enum:"public|confidential"`
	Scopes                 *[]string `json:"scopes" each:"scope"`
	GrantTypes             *[]string `json:"grant_types" each:"grant"`
	AuthMethod             *string   `json:"token_endpoint_auth_method" like:"auth_method"`
	PostLogoutRedirectURIs *[]string `json:"post_logout_redirect_uris" max:"20"`
	FirstParty             *bool     `json:"first_party"`
	IDTokenAlg             *string   `json:"id_token_signed_response_alg" enum:"RS256|ES256"`
	IDTokenClaims          *bool     `json:"id_token_claims"`
	RequirePKCE            *bool     `json:"require_pkce"`
	Disabled               *bool     `json:"disabled"`
}

// ClientGrants lists the grant types that a client may have.
var ClientGrants = []string{"authorization_code", "refresh_token", "password", "client_credentials"}

// NewClient returns a new client with the fields of in. If in names no tenant, the client belongs to the daemon. The id
// in in is ignored. A confidential client's secret is returned only here; the database stores only its hash.
func NewClient(in ClientInput, operator bool, now Instant) (c Client, secret string, err error) {
	c = Client{
		ID: NewID(), ClientType: ClientPublic, IDTokenAlg: "RS256", RequirePKCE: true, CreatedAt: now,
		Scopes: slices.Clone(UserScopes),
	}
	take(&c.TenantID, in.TenantID)
	in.ID, in.TenantID = nil, nil
	if in.GrantTypes == nil {
		grants := []string{"authorization_code", "refresh_token"}
		if in.ClientType != nil && *in.ClientType == ClientConfidential {
			grants = append(grants, "client_credentials")
		}
		in.GrantTypes = &grants
	}
	secret, err = c.Change(in, operator, now)
	return c, secret, err
}

// Change sets the client's fields from in. Only server administrators may set first_party, require_pkce and the scope
// admin. Users aren't asked for consent to a first-party client, so only server administrators may change where its
// tokens go and what they permit. If the client becomes confidential, Change returns a secret, which can't be read
// again later.
func (c *Client) Change(in ClientInput, operator bool, now Instant) (secret string, err error) {
	if in.ID != nil && *in.ID != c.ID {
		return "", Invalidf("id", "id can't be changed. Leave it out.")
	}
	if in.TenantID != nil && *in.TenantID != c.TenantID {
		return "", Invalidf("tenant_id", "tenant_id can't be changed. Leave it out.")
	}
	was := *c
	take(&c.Name, in.Name)
	take(&c.ClientType, in.ClientType)
	take(&c.AuthMethod, in.AuthMethod)
	take(&c.IDTokenAlg, in.IDTokenAlg)
	takeAll(&c.RedirectURIs, in.RedirectURIs)
	takeAll(&c.PostLogoutRedirectURIs, in.PostLogoutRedirectURIs)
	takeAll(&c.Scopes, in.Scopes)
	takeAll(&c.GrantTypes, in.GrantTypes)
	if in.FirstParty != nil {
		c.FirstParty = *in.FirstParty
	}
	if in.IDTokenClaims != nil {
		c.IDTokenClaims = *in.IDTokenClaims
	}
	if in.RequirePKCE != nil {
		c.RequirePKCE = *in.RequirePKCE
	}
	if in.Disabled != nil {
		c.disable(*in.Disabled, now)
	}
	if c.ClientType != was.ClientType && in.AuthMethod == nil {
		c.AuthMethod = ""
	}
	if err := c.Validate(); err != nil {
		return "", err
	}
	gained := slices.Contains(c.Scopes, ScopeAdmin) && !slices.Contains(was.Scopes, ScopeAdmin)
	if !operator && (c.FirstParty != was.FirstParty || c.RequirePKCE != was.RequirePKCE || gained) {
		return "", Forbiddenf("Only server administrators can set first_party, require_pkce and the scope admin. " +
			"Leave them out, or ask a server administrator.")
	}
	if !operator && was.FirstParty && !c.sameDoors(was) {
		return "", Forbiddenf("Only server administrators can change a first-party client, except for its name.")
	}
	c.UpdatedAt = now
	switch {
	case c.ClientType == ClientPublic:
		c.SecretHash, c.OldSecretHash, c.OldSecretUntil = nil, nil, 0
	case len(c.SecretHash) == 0:
		return c.NewSecret(), nil
	}
	return "", nil
}

// disable disables the client if off is true; otherwise it enables the client. Tokens that disabling has revoked stay
// invalid.
func (c *Client) disable(off bool, now Instant) {
	switch {
	case !off:
		c.DisabledAt = 0
	case c.DisabledAt == 0:
		c.DisabledAt = now
	}
}

// Warnings returns warnings about client settings that have no effect.
func (c *Client) Warnings() []string {
	own := func(scope string) bool { return slices.Contains(ManagementScopes, scope) }
	if slices.Contains(c.GrantTypes, "client_credentials") && !slices.ContainsFunc(c.Scopes, own) {
		return []string{"The grant client_credentials always fails with invalid_scope, because scopes has " +
			"no scope that a client can use without a user. Add one of " + strings.Join(ManagementScopes, ", ") + "."}
	}
	return nil
}

// sameDoors reports whether clients c and o have the same access settings: redirect URIs, authentication, scopes, and
// whether they are disabled.
func (c *Client) sameDoors(o Client) bool {
	return c.DisabledAt == o.DisabledAt && c.ClientType == o.ClientType && c.AuthMethod == o.AuthMethod &&
		c.IDTokenAlg == o.IDTokenAlg && c.IDTokenClaims == o.IDTokenClaims &&
		slices.Equal(c.RedirectURIs, o.RedirectURIs) && slices.Equal(c.PostLogoutRedirectURIs,
		o.PostLogoutRedirectURIs) &&
		slices.Equal(c.Scopes, o.Scopes) && slices.Equal(c.GrantTypes, o.GrantTypes)
}

// OpensAs reports whether the client has the same secret, addresses and permissions as its earlier state, was. A person
// who changes one of them can act through the client afterwards.
func (c *Client) OpensAs(was Client) bool {
	was.DisabledAt = c.DisabledAt
	return c.sameDoors(was) && bytes.Equal(c.SecretHash, was.SecretHash)
}

// NewSecret sets a new secret and returns it. The client stores only its hash.
func (c *Client) NewSecret() string {
	secret := NewToken()
	c.SecretHash = HashToken(secret)
	return secret
}

// RotateSecret sets a confidential client's new secret and returns it. The previous secret stays valid for overlap; if
// overlap is 0, all earlier secrets expire immediately. If overlap is positive and an earlier secret is still valid, it
// returns ErrSecretStands. It returns a Forbidden error if the caller may not change the secret, and a Conflict error
// for a public client.
func (c *Client) RotateSecret(overlap time.Duration, operator bool, now Instant) (string, error) {
	if err := c.mayRotate(operator); err != nil {
		return "", err
	}
	if overlap > 0 && c.OldSecretUntil > now {
		return "", ErrSecretStands
	}
	old := c.SecretHash
	c.OldSecretHash, c.OldSecretUntil, c.UpdatedAt = nil, 0, now
	if overlap > 0 {
		c.OldSecretHash, c.OldSecretUntil = old, now.Add(overlap)
	}
	return c.NewSecret(), nil
}

// EndOldSecret revokes the previous secret if it is still valid. It returns the same Forbidden and Conflict errors as
// RotateSecret.
func (c *Client) EndOldSecret(operator bool, now Instant) error {
	if err := c.mayRotate(operator); err != nil {
		return err
	}
	c.OldSecretHash, c.OldSecretUntil, c.UpdatedAt = nil, 0, now
	return nil
}

func (c *Client) mayRotate(operator bool) error {
	switch {
	case c.FirstParty && !operator:
		return Forbiddenf("Only server administrators can change the secret of a first-party client. Ask one of them.")
	case c.ClientType != ClientConfidential:
		return Conflictf("conflict", "Public clients have no secret. Create a confidential client to use one.")
	}
	return nil
}

func takeAll(to *Strings, from *[]string) {
	if from != nil {
		*to = Strings(*from)
	}
}

// Validate checks every field.
func (c *Client) Validate() error {
	if err := checkName(&c.Name, "name"); err != nil {
		return err
	}
	if c.ClientType != ClientPublic && c.ClientType != ClientConfidential {
		return Invalidf("client_type", "client_type must be public or confidential.")
	}
	if err := checkURIs(c.RedirectURIs, "redirect_uris"); err != nil {
		return err
	}
	if err := checkURIs(c.PostLogoutRedirectURIs, "post_logout_redirect_uris"); err != nil {
		return err
	}
	if err := checkWords(&c.Scopes, "scopes", AllScopes); err != nil {
		return err
	}
	if err := checkWords(&c.GrantTypes, "grant_types", ClientGrants); err != nil {
		return err
	}
	if c.IDTokenAlg != "RS256" && c.IDTokenAlg != "ES256" {
		return Invalidf("id_token_signed_response_alg", "id_token_signed_response_alg must be RS256 or ES256.")
	}
	return c.validateType()
}

// validateType checks the fields that are valid only for one type of client: public or confidential.
func (c *Client) validateType() error {
	methods := []string{"", "client_secret_basic", "client_secret_post"}
	if c.ClientType == ClientPublic {
		methods = []string{"", "none"}
		if !c.RequirePKCE {
			return Invalidf("require_pkce", "require_pkce can only be turned off for confidential clients. Set it to "+
				"true.")
		}
		if slices.Contains(c.GrantTypes, "client_credentials") {
			return Invalidf("grant_types", "client_credentials is only allowed for confidential clients. Remove it "+
				"from grant_types.")
		}
	}
	if !slices.Contains(methods, c.AuthMethod) {
		return Invalidf("token_endpoint_auth_method",
			"token_endpoint_auth_method is not allowed for the client_type %s. Leave it out to use the default.",
			c.ClientType)
	}
	if c.ClientType == ClientPublic {
		c.AuthMethod = "none"
	}
	return nil
}

// checkWords removes duplicates from s. It returns an error that names the field if s contains a word that isn't known.
func checkWords(s *Strings, field string, known []string) error {
	out := Strings{}
	for i, w := range *s {
		if !slices.Contains(known, w) {
			f := field + "[" + strconv.Itoa(i) + "]"
			return Invalidf(f, "%s must be one of %s.", f, strings.Join(known, ", "))
		}
		if !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	*s = out
	return nil
}

// maxURIs is the maximum number of redirect URIs per client.
const maxURIs = 20

func checkURIs(uris Strings, field string) error {
	if len(uris) > maxURIs {
		return Invalidf(field, "%s must have at most %d entries.", field, maxURIs)
	}
	for i, u := range uris {
		if !ValidRedirectURI(u) {
			f := field + "[" + strconv.Itoa(i) + "]"
			return Invalidf(f, "%s must be an https URL, a loopback http URL, or use a private-use scheme such as "+
				"com.example.app. Leave out fragments, usernames, * and dot segments.", f)
		}
	}
	return nil
}

// ValidRedirectURI reports whether a redirect URI can be registered. It must be https, http on loopback, or a
// private-use scheme with a dot (RFC 8252 sections 7.1 and 7.3). It must be absolute and have no fragment (RFC 6749
// section 3.1.2), user, wildcard or dot segments.
func ValidRedirectURI(s string) bool {
	if s == "" || len(s) > maxURL || strings.ContainsAny(s, "#*\\\"<>^`{|}") ||
		strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r >= 0x7f }) >= 0 {
		return false
	}
	u, err := url.Parse(s)
	if err != nil || u.User != nil || u.Opaque != "" || dotSegments(u.Path) {
		return false
	}
	switch u.Scheme {
	case "https":
		return validHost(u)
	case "http":
		return isLoopback(u.Hostname()) && validHost(u)
	default:
		return strings.Contains(u.Scheme, ".") && (u.Host == "" || validHost(u)) && len(s) > len(u.Scheme)+1
	}
}

func dotSegments(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}

// IsLocalURL reports whether a URL refers to the machine that opens it.
func IsLocalURL(address string) bool {
	u, err := url.Parse(address)
	return err == nil && isLoopback(u.Hostname())
}

func isLoopback(host string) bool {
	if host == "localhost" {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.IsLoopback()
}

// validPort reports whether a URL has no port, or a port from 1 to 65535.
func validPort(u *url.URL) bool {
	p := u.Port()
	if p == "" {
		return !strings.HasSuffix(u.Host, ":")
	}
	n, err := strconv.ParseUint(p, 10, 16)
	return err == nil && n > 0
}

func validHost(u *url.URL) bool {
	if !validPort(u) {
		return false
	}
	host := u.Hostname()
	// a single label is a name on a local network
	if plainDomain(host) || !strings.Contains(host, ".") && plainDomain(host+".test") {
		return true
	}
	_, err := netip.ParseAddr(host)
	return err == nil
}
