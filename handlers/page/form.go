package page

import (
	"cmp"
	"html/template"
	"io"

	"newsletterd/core"
)

// embeddedForm is a signup form for a tenant's own site. It needs no scripts, cookies or files from this server, only
// the URL to which it posts.
var embeddedForm = template.Must(template.New("form").Parse(`<form action="{{.Action}}" method="post" accept-charset="utf-8">
  <label>{{.W.Email}} <input type="email" name="email" autocomplete="email" maxlength="254" required></label>
{{- range .Fields.Open}}
{{- if eq .Type "boolean"}}
  <label><input type="checkbox" name="{{.Name}}" value="true"{{if .Required}} required{{end}}> {{.Label}}</label>
{{- else if eq .Type "choice"}}
  <label>{{.Label}} <select name="{{.Name}}"{{if .Required}} required{{end}}>
    <option value="">{{$.W.Choose}}</option>
{{- range .Options}}
    <option>{{.}}</option>
{{- end}}
  </select></label>
{{- else}}
  <label>{{.Label}} <input name="{{.Name}}" maxlength="500"{{if .Required}} required{{end}}></label>
{{- end}}
{{- end}}
  <input name="_website" tabindex="-1" autocomplete="off" aria-hidden="true" style="position: absolute; left: -9999px">
{{- with .Tracking}}
  <label><input type="checkbox" name="{{.Name}}" value="{{.Version}}"> {{.Text}}</label>
{{- end}}
{{- if .ConsentText}}
  <p>{{.ConsentText}}</p>
{{- end}}
  <button>{{.W.SubscribeButton}}</button>
</form>
`))

// WriteForm writes the HTML of a list's signup form for the tenant's own site, in the list's language. The form posts
// to the tenant's public_url, or to origin if the tenant has none.
func WriteForm(w io.Writer, l *core.ListWithTenant, origin string) error {
	d := Style{Lang: l.PageLanguage(), Tenant: TenantBrand(OwnBrand(), &l.Tenant).Name}
	return embeddedForm.Execute(w, struct {
		*core.ListWithTenant
		W        *Words
		Action   string
		Tracking *TrackingBox
	}{l, d.Words(), cmp.Or(l.Tenant.PublicURL, origin) + SubscribePath(l.ID), TrackingBoxOf(&l.Tenant, &d)})
}

// TrackingBox is the checkbox for consent to individual open and click tracking. It is checked only if the visitor
// checked it in a form that was rejected. A nil TrackingBox means that the tenant doesn't ask for consent.
type TrackingBox struct {
	Name, Text, Version string
	Checked             bool
}

// TrackingBoxOf returns a tenant's consent checkbox in the language of a style. If the tenant doesn't ask for consent,
// it returns nil.
func TrackingBoxOf(t *core.Tenant, s *Style) *TrackingBox {
	if !t.AsksForTracking() {
		return nil
	}
	text := s.Expand(s.Words().TrackingText)
	return &TrackingBox{Name: core.TrackingMember, Text: text, Version: core.TextVersion(text)}
}
