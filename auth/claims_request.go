package auth

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"newsletterd/core"
)

// maxClaims is the maximum length of the claims parameter in bytes.
const maxClaims = 4096

// The authentication context classes (acr) of sign-ins.
const (
	acrPassword   = "1" // reached by every sign-in
	acrTwoFactors = "2"
	acrPasskey    = "phr" // resistant to phishing (OpenID EAP ACR Values section 2)
)

// acrValues lists all classes from the weakest to the strongest.
var acrValues = []string{acrPassword, acrTwoFactors, acrPasskey}

// acrOf returns the authentication context class of a sign-in with the given methods.
func acrOf(amr string) string {
	switch methods := strings.Fields(amr); {
	case slices.Contains(methods, "hwk"), slices.Contains(methods, "swk"):
		return acrPasskey
	case slices.Contains(methods, "mfa"):
		return acrTwoFactors
	}
	return acrPassword
}

// reaches returns the authentication context class to report for a sign-in of the given class. That is the class itself
// or, if it is not among the essential values, the strongest weaker one among them. If the sign-in satisfies no
// essential value, ok is false.
func (r *ClaimsRequest) reaches(reached string) (acr string, ok bool) {
	if len(r.ACR) == 0 {
		return reached, true
	}
	for _, acr := range slices.Backward(acrValues[:slices.Index(acrValues, reached)+1]) {
		if slices.Contains(r.ACR, acr) {
			return acr, true
		}
	}
	return "", false
}

// words returns the requested claims in the form that a family stores. If the id token must report a class other than
// that of the sign-in, the result includes the class to report.
func (r *ClaimsRequest) words(reached string) string {
	words := slices.Clone(r.Claims)
	if i := slices.Index(words, acrWord); i >= 0 {
		if acr, ok := r.reaches(reached); ok && acr != reached {
			words[i] += "." + acr
		}
	}
	return strings.Join(words, " ")
}

const acrWord = claimsIDToken + ".acr"

// acrAnswer returns the authentication context class for an id token, or an empty string if it wasn't requested.
func acrAnswer(claims, amr string) string {
	for _, word := range strings.Fields(claims) {
		if word == acrWord {
			return acrOf(amr)
		}
		if acr, ok := strings.CutPrefix(word, acrWord+"."); ok {
			return acr
		}
	}
	return ""
}

// claimScope maps a claim to the scope whose text on the consent page describes it. Claims that reveal nothing new
// about the user map to an empty scope, and unknown claims are left out.
var claimScope = map[string]string{
	"name": core.ScopeProfile, "updated_at": core.ScopeProfile, "email": core.ScopeEmail,
	"email_verified": core.ScopeEmail, "preferred_username": core.ScopeEmail,
	"acr": "", "auth_time": "", "sub": "",
}

// The two places where claims can be requested.
const (
	claimsUserInfo = "userinfo"
	claimsIDToken  = "id_token"
)

// ClaimsRequest is a parsed claims parameter (OpenID Connect Core section 5.5), reduced to the supported claims.
type ClaimsRequest struct {
	Claims  []string // such as "userinfo.name" and "id_token.email", sorted
	Subject string   // the required user; empty: any
	ACR     []string // essential acr values, one of which must be reached; empty: none
}

var errClaims = errors.New("the claims parameter is malformed")

// ParseClaims parses the claims parameter: a JSON object without repeated names. Unknown members, claims and
// properties are ignored, as section 5.5 requires.
func ParseClaims(text string) (r ClaimsRequest, err error) {
	if len(text) > maxClaims || !utf8.ValidString(text) || !singleNames(text) {
		return r, errClaims
	}
	var members map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &members) != nil || members == nil {
		return r, errClaims
	}
	for _, place := range []string{claimsUserInfo, claimsIDToken} {
		var claims map[string]json.RawMessage
		if raw := members[place]; raw != nil && json.Unmarshal(raw, &claims) != nil {
			return r, errClaims
		}
		for name, raw := range claims {
			if err := r.add(place, name, raw); err != nil {
				return ClaimsRequest{}, err
			}
		}
	}
	slices.Sort(r.Claims)
	return r, nil
}

// add adds the request for one claim, which is null or an object with essential, value and values (section 5.5.1).
func (r *ClaimsRequest) add(place, name string, raw json.RawMessage) error {
	var p map[string]json.RawMessage
	if json.Unmarshal(raw, &p) != nil {
		return errClaims
	}
	var essential bool
	if e := p["essential"]; e != nil && (json.Unmarshal(e, &essential) != nil || string(e) == "null") {
		return errClaims
	}
	if _, known := claimScope[name]; !known {
		return nil
	}
	r.Claims = append(r.Claims, place+"."+name)
	switch {
	case name == "sub" && p["value"] != nil:
		var sub string
		if json.Unmarshal(p["value"], &sub) != nil || sub == "" || r.Subject != "" && r.Subject != sub {
			return errClaims
		}
		r.Subject = sub
	case name == "acr" && place == claimsIDToken && essential:
		return r.demandACR(p["value"], p["values"])
	}
	return nil
}

// demandACR reads the values of an essential acr (section 5.5.1.1).
func (r *ClaimsRequest) demandACR(value, values json.RawMessage) error {
	if value != nil {
		var acr string
		if json.Unmarshal(value, &acr) != nil || acr == "" {
			return errClaims
		}
		r.ACR = append(r.ACR, acr)
	}
	if values != nil {
		var acrs []string
		if json.Unmarshal(values, &acrs) != nil || len(acrs) == 0 {
			return errClaims
		}
		r.ACR = append(r.ACR, acrs...)
	}
	return nil
}

// singleNames reports whether text is a single JSON value in which no object repeats a name. Parsers disagree about
// which of the values counts.
func singleNames(text string) bool {
	d := json.NewDecoder(strings.NewReader(text))
	if !singleValue(d, 0) {
		return false
	}
	_, err := d.Token()
	return err == io.EOF
}

// maxClaimsDepth is the maximum nesting depth of a value in the claims parameter.
const maxClaimsDepth = 16

func singleValue(d *json.Decoder, depth int) bool {
	t, err := d.Token()
	if err != nil || depth > maxClaimsDepth {
		return false
	}
	open, ok := t.(json.Delim)
	if !ok {
		return true
	}
	seen := map[string]bool{}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			key, ok := name.(string)
			if err != nil || !ok || seen[key] {
				return false
			}
			seen[key] = true
		}
		if !singleValue(d, depth+1) {
			return false
		}
	}
	_, err = d.Token()
	return err == nil
}

// keep removes claims whose scope the client is not registered for.
func (r *ClaimsRequest) keep(registered []string) {
	r.Claims = slices.DeleteFunc(r.Claims, func(word string) bool {
		scope := scopeOfClaim(word)
		return scope != "" && !slices.Contains(registered, scope)
	})
}

// scopes adds the scopes of the claims requested by name, so that the user is asked for consent to all of them.
func (r *ClaimsRequest) scopes(scopes []string) []string {
	all := slices.Clone(scopes)
	for _, word := range r.Claims {
		if scope := scopeOfClaim(word); scope != "" && !slices.Contains(all, scope) {
			all = append(all, scope)
		}
	}
	return all
}

func scopeOfClaim(word string) string {
	_, name, _ := strings.Cut(word, ".")
	return claimScope[name]
}

// asksFor reports whether claims, the stored claims of a family, contain the claim name at place.
func asksFor(claims, place, name string) bool {
	return claims != "" && slices.Contains(strings.Fields(claims), place+"."+name)
}

// asksForUser reports whether the id token needs claims from the user's record.
func asksForUser(claims string) bool {
	for _, word := range strings.Fields(claims) {
		if strings.HasPrefix(word, claimsIDToken+".") && scopeOfClaim(word) != "" {
			return true
		}
	}
	return false
}

// fill sets the claims in i that were requested by name at place.
func (i *UserInfo) fill(u *core.User, claims, place string) {
	if asksFor(claims, place, "name") {
		i.Name = u.Name
	}
	if asksFor(claims, place, "preferred_username") && u.EmailVerified {
		i.Username = string(u.Email)
	}
	if asksFor(claims, place, "updated_at") {
		i.UpdatedAt = seconds(u.UpdatedAt)
	}
	if asksFor(claims, place, "email") {
		i.Email = &u.Email
	}
	if asksFor(claims, place, "email_verified") {
		i.EmailVerified = &u.EmailVerified
	}
}
