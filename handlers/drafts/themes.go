package drafts

import (
	"cmp"

	"newsletterd/core"
	"newsletterd/mail"
	"newsletterd/mail/markup"
)

// NewTheme returns a new theme for a tenant. Its default color is the tenant's.
func NewTheme(t *core.Tenant, in core.ThemeInput, now core.Instant) (core.Theme, error) {
	base := ""
	if in.Base != nil {
		base = *in.Base
	}
	of, err := markup.BaseTheme(base, t)
	if err != nil {
		return of, err
	}
	if in.Base = nil; base != "" {
		in.Base = &of.Base
	}
	return core.NewTheme(t.ID, of, in, now)
}

// ThemeSample returns a sample newsletter that uses a tenant's theme, and the colors that were adjusted.
func ThemeSample(theme *core.Theme, t *core.Tenant) (bulk *mail.Bulk, moved []core.AdjustedColor, err error) {
	if _, moved, err = markup.OwnTheme(theme); err != nil {
		return nil, nil, err
	}
	o, err := markup.LooksOf("", theme, t)
	if err != nil {
		return nil, nil, err
	}
	o.Language, o.Title, o.Name = t.Language, theme.Name, cmp.Or(t.BrandName, t.Name)
	r, err := markup.Compile(markup.KindMarkdown, themeSamples[cmp.Or(t.Language, core.Languages[0])], o)
	if err != nil {
		return nil, nil, err
	}
	content := SampleContent(&core.Template{Name: theme.Name, BodyHTML: r.HTML, BodyText: r.Text})
	content.List.Name = o.Name
	bulk, err = mail.CompileShown("preview", &content)
	return bulk, moved, err
}

// themeSamples holds an example of every element that themes change, in each language of core.Languages.
var themeSamples = map[string]string{
	"en": `# A heading

Some text with **strong words**, [a link](https://example.org/) and ` + "`code`" + `.

[A button](https://example.org/){.button}

## A smaller heading

> A quote.

::: tip
A box with a [link](https://example.org/).
:::

| A table | of two columns |
|---|---|
| one | two |

---

- a list
- of two
`,
	"de": `# Eine Überschrift

Etwas Text mit **fetten Wörtern**, [einem Link](https://example.org/) und ` + "`Code`" + `.

[Eine Schaltfläche](https://example.org/){.button}

## Eine kleinere Überschrift

> Ein Zitat.

::: tip
Ein Kasten mit einem [Link](https://example.org/).
:::

| Eine Tabelle | mit zwei Spalten |
|---|---|
| eins | zwei |

---

- eine Liste
- mit zwei Punkten
`,
	"es": `# Un título

Un texto con **palabras en negrita**, [un enlace](https://example.org/) y ` + "`código`" + `.

[Un botón](https://example.org/){.button}

## Un título más pequeño

> Una cita.

::: tip
Un recuadro con un [enlace](https://example.org/).
:::

| Una tabla | de dos columnas |
|---|---|
| uno | dos |

---

- una lista
- de dos puntos
`,
	"fr": `# Un titre

Un texte avec **des mots en gras**, [un lien](https://example.org/) et du ` + "`code`" + `.

[Un bouton](https://example.org/){.button}

## Un titre plus petit

> Une citation.

::: tip
Un encadré avec un [lien](https://example.org/).
:::

| Un tableau | de deux colonnes |
|---|---|
| un | deux |

---

- une liste
- de deux points
`,
}
