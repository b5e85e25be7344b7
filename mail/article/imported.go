package article

// Imported makes the article of a post that was published with another tool. page is clean HTML; its links and images
// stay unchanged. picture returns the size of an image as in Source. Imported returns an error if the page is nested
// too deeply.
func Imported(title, page string, picture func(address string) (width, height int)) (*Article, error) {
	body, err := parse(page)
	if err != nil {
		return nil, err
	}
	a := &Article{}
	s := Source{Title: title, Link: func(address string) string { return address }, Picture: picture}
	s.headings(body)
	s.finish(body, a)
	a.Words = words(body)
	if a.HTML, err = write(body); a.HTML == "" {
		a.HTML = page // the page consists only of a heading that repeats the title
	}
	return a, err
}

// ImportedText returns the words of an imported post and an excerpt of them. Its errors are those of Imported.
func ImportedText(title, page string) (words, excerpt string, err error) {
	a, err := Imported(title, page, func(string) (width, height int) { return 0, 0 })
	if err != nil {
		return "", "", err
	}
	return a.Words, Excerpt(a.Words), nil
}
