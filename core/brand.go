package core

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxBrandName is the maximum length of a new brand_name, in characters.
const maxBrandName = 60

// checkBrandName refuses a brand name that looks like a URL or an address. Brand names appear in emails that the daemon
// sends in its own name, and email programs turn URLs and addresses into links.
func checkBrandName(s string) error {
	switch {
	case utf8.RuneCountInString(s) > maxBrandName:
		return Invalidf("brand_name", "brand_name must have at most %d characters.", maxBrandName)
	case !plainName(s):
		return Invalidf("brand_name", "brand_name contains a URL, a host name or an email address. Remove it.")
	}
	return nil
}

// AccountBrand returns the name that emails about accounts use for the tenant: its brand name or, if that looks like a
// URL or an address, its name. If both do, AccountBrand returns "".
func (t *Tenant) AccountBrand() string {
	for _, name := range []string{t.BrandName, t.Name} {
		if name != "" && utf8.RuneCountInString(name) <= maxBrandName && plainName(name) {
			return name
		}
	}
	return ""
}

// plainName reports whether neither an email program nor a person could mistake any part of a name for a URL or an
// address. Such a name contains no "//", "www." or "@", no dot between a letter or digit and two letters, and no
// control or invisible characters.
func plainName(s string) bool {
	if strings.Contains(s, "//") || strings.Contains(s, "@") || strings.Contains(strings.ToLower(s), "www.") ||
		hasControl(s) || hasInvisible(s) {
		return false
	}
	runes := []rune(s)
	for i, r := range runes {
		if r == '\uff20' || r == '\uff0f' {
			return false
		}
		if strings.ContainsRune(".\u3002\uff0e\uff61\u2024", r) && i > 0 &&
			(unicode.IsLetter(runes[i-1]) || unicode.IsDigit(runes[i-1])) &&
			i+2 < len(runes) && unicode.IsLetter(runes[i+1]) &&
			(unicode.IsLetter(runes[i+2]) || runes[i+2] == '-' || unicode.IsDigit(runes[i+2])) {
			return false
		}
	}
	return true
}

// hasHost reports whether an origin's host is one of the tenant's domains or a subdomain of one.
func (t *Tenant) hasHost(origin string) bool {
	host, _, _ := strings.Cut(OriginHost(origin), ":")
	for _, d := range t.Domains {
		if host == d || strings.HasSuffix(host, "."+d) {
			return true
		}
	}
	return false
}

// OriginHost returns an origin's host in lower case. It includes the port if that isn't the scheme's default. If the
// origin is invalid, it returns "".
func OriginHost(origin string) string {
	u, err := url.Parse(strings.ToLower(origin))
	if err != nil {
		return ""
	}
	if port := map[string]string{"http": ":80", "https": ":443"}[u.Scheme]; port != "" {
		return strings.TrimSuffix(u.Host, port)
	}
	return u.Host
}
