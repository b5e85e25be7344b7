package mail

import (
	"slices"
	"strings"
)

// opcode is the operation of a node.
type opcode uint8

const (
	opText   opcode = iota // print text
	opOutput               // print a value
	opUnless               // jump to target if the condition is false
	opJump                 // jump to target
	opTrack                // print the token of link number target
)

// node is one step of a compiled template. Jumps only go forward, so rendering always ends.
type node struct {
	op     opcode
	text   string
	head   operand
	filter []filterCall
	escape escape
	cond   condition
	target int
	// enc is text in quoted-printable, starting at column 0 and ending at column encCol. Bulk sets it
	enc    []byte
	encCol int
}

// block is an open if or unless.
type block struct {
	token   token
	begin   htmlContext // context at the start of its branches
	end     *htmlContext
	address struct{ begin, end textAddress } // the same for a text part
	test    int                              // opUnless without a target so far, -1 after else
	exits   []int                            // jumps to the end
	hasElse bool
}

type compiler struct {
	t       *Template
	ctx     htmlContext
	address textAddress // context in a text part
	hole    token       // last placeholder in the HTML
	blocks  []block
	count   int // number of nodes and comparisons
}

func compileTokens(part Part, tokens []token) (*Template, error) {
	c := &compiler{t: &Template{part: part}}
	for _, tok := range tokens {
		if err := c.token(tok); err != nil {
			return nil, err
		}
		if c.count += 1; c.count > maxNodes {
			return nil, tok.src.fail(tok.pos, "the template must have at most %d parts", maxNodes)
		}
	}
	if n := len(c.blocks); n > 0 {
		tok := c.blocks[n-1].token
		return nil, tok.src.fail(tok.pos, "{%% %s %%} has no end tag; add one, or remove this tag", firstWord(tok.body))
	}
	c.t.nodes = slices.Clone(c.t.nodes) // without spare capacity
	return c.t, nil
}

func (c *compiler) add(n node) int {
	c.t.nodes = append(c.t.nodes, n)
	return len(c.t.nodes) - 1
}

func (c *compiler) token(tok token) error {
	if tok.kind != tokenText {
		tok.body = strings.Clone(tok.body) // so that a name or value in it doesn't keep the whole source in memory
	}
	switch tok.kind {
	case tokenText:
		if tok.body == "" {
			return nil
		}
		if c.t.part == PartHTML {
			c.ctx.advance(tok.body)
			if problem := c.ctx.fault(); problem != "" {
				return c.hole.src.fail(c.hole.pos, "%s", problem)
			}
		}
		if c.t.part == PartText {
			c.address = c.address.advance(tok.body)
		}
		c.t.size += len(tok.body)
		c.add(node{op: opText, text: tok.body})
		return nil
	case tokenOutput:
		return c.output(tok)
	case tokenTrack:
		c.add(node{op: opTrack, target: tok.link})
		return nil
	}
	return c.tag(tok)
}

func (c *compiler) output(tok token) error {
	e := expression{tok: tok, rest: tok.body, t: c.t}
	n := node{op: opOutput}
	var err error
	if n.head, err = e.operand(); err != nil {
		return err
	}
	if n.filter, err = e.filters(); err != nil {
		return err
	}
	encoded := len(n.filter) > 0 && n.filter[len(n.filter)-1].id == filterURLEncode
	switch c.t.part {
	case PartText:
		n.escape = escapeText
		if (tok.inURL || c.address.inside) && !encoded {
			n.escape = escapeURLPart
		}
		c.address = c.address.advance("x")
	case PartHTML:
		var problem string
		c.hole = tok
		if n.escape, problem = c.ctx.hole(encoded, n.head.link() && len(n.filter) == 0); problem == "" {
			problem = c.ctx.fault()
		}
		if problem != "" {
			return tok.src.fail(tok.pos, "%s", problem)
		}
	}
	if r := n.head.root; r == rootUnsubscribeURL || r == rootUnsubscribeToken {
		c.t.unsub = true
	}
	c.add(n)
	return nil
}

func (c *compiler) tag(tok token) error {
	word := firstWord(tok.body)
	rest := strings.TrimSpace(tok.body[len(word):])
	switch word {
	case "if", "unless":
		return c.open(tok, word, rest)
	case "elsif":
		return c.elsif(tok, rest)
	case "else":
		if rest != "" {
			return tok.src.fail(tok.pos, "else can't have a condition; use elsif")
		}
		return c.otherwise(tok)
	case "endif", "endunless":
		return c.close(tok, word[3:])
	case "endraw", "endcomment":
		return tok.src.fail(tok.pos, "{%% %s %%} has no opening tag; add one, or remove this tag", word)
	}
	if link := foreignLink(plainName(word)); link != "" {
		return tok.src.fail(tok.pos, "unknown tag %q: write {{ %s }}", clip(word), link)
	}
	return tok.src.fail(tok.pos,
		"unknown tag %q; use if, elsif, else, endif, unless, endunless, comment or raw", word)
}

func (c *compiler) open(tok token, word, rest string) error {
	if len(c.blocks) >= maxNesting {
		return tok.src.fail(tok.pos, "blocks must have at most %d levels of nesting", maxNesting)
	}
	test, err := c.test(tok, rest, word == "unless")
	if err != nil {
		return err
	}
	b := block{token: tok, begin: c.ctx, test: test}
	b.address.begin = c.address
	c.blocks = append(c.blocks, b)
	return nil
}

// test adds a node that skips the branch unless its condition holds, and returns the node's index.
func (c *compiler) test(tok token, rest string, negate bool) (int, error) {
	e := expression{tok: tok, rest: rest, t: c.t}
	cond, err := e.condition()
	if err != nil {
		return 0, err
	}
	cond.negate = negate
	c.count += len(cond.terms)
	return c.add(node{op: opUnless, cond: cond}), nil
}

func (c *compiler) top(tok token) (*block, error) {
	if len(c.blocks) == 0 {
		word, opening := firstWord(tok.body), "if"
		if word == "endunless" {
			opening = "unless"
		}
		return nil, tok.src.fail(tok.pos, "{%% %s %%} has no matching {%% %s %%}; add one, or remove this tag", word,
			opening)
	}
	return &c.blocks[len(c.blocks)-1], nil
}

// branchEnd closes a branch of a block. The branch must end in the same HTML context as the block's earlier branches.
func (c *compiler) branchEnd(b *block, tok token) error {
	if b.end == nil {
		end := c.ctx
		b.end, b.address.end = &end, c.address
	} else if !b.end.join(c.ctx) {
		return tok.src.fail(tok.pos,
			"the branches of this block end at different places in the HTML, for example one inside a tag and one "+
				"outside")
	}
	b.address.end = b.address.end.join(c.address)
	c.ctx, c.address = b.begin, b.address.begin
	return nil
}

func (c *compiler) elsif(tok token, rest string) error {
	b, err := c.top(tok)
	if err != nil {
		return err
	}
	if b.hasElse || firstWord(b.token.body) == "unless" {
		return tok.src.fail(tok.pos, "elsif must be inside an if, before its else")
	}
	if err := c.branchEnd(b, tok); err != nil {
		return err
	}
	b.exits = append(b.exits, c.add(node{op: opJump}))
	c.t.nodes[b.test].target = len(c.t.nodes)
	b.test, err = c.test(tok, rest, false)
	return err
}

func (c *compiler) otherwise(tok token) error {
	b, err := c.top(tok)
	if err != nil {
		return err
	}
	if b.hasElse {
		return tok.src.fail(tok.pos, "an if can have only one else; remove this one")
	}
	if err := c.branchEnd(b, tok); err != nil {
		return err
	}
	b.exits = append(b.exits, c.add(node{op: opJump}))
	c.t.nodes[b.test].target = len(c.t.nodes)
	b.hasElse, b.test = true, -1
	return nil
}

func (c *compiler) close(tok token, word string) error {
	b, err := c.top(tok)
	if err != nil {
		return err
	}
	if opened := firstWord(b.token.body); opened != word {
		return tok.src.fail(tok.pos, "end%s can't close %s", word, opened)
	}
	if err := c.branchEnd(b, tok); err != nil {
		return err
	}
	if !b.hasElse { // without else, the missing branch ends where it starts
		if err := c.branchEnd(b, tok); err != nil {
			return err
		}
	}
	c.ctx, c.address = *b.end, b.address.end
	if b.test >= 0 {
		c.t.nodes[b.test].target = len(c.t.nodes)
	}
	for _, exit := range b.exits {
		c.t.nodes[exit].target = len(c.t.nodes)
	}
	c.blocks = c.blocks[:len(c.blocks)-1]
	return nil
}

func firstWord(s string) string {
	if i := strings.IndexAny(s, blanks); i >= 0 {
		return s[:i]
	}
	return s
}

// warning is a warning about a name in a template. write is the placeholder to use instead, or empty if there is none.
type warning struct{ name, text, write string }

func (w warning) String() string {
	if w.write != "" {
		return w.name + " " + w.text + ": write " + w.write
	}
	return w.name + " " + w.text
}

// warn records a warning once.
func (t *Template) warn(w warning) {
	if !slices.Contains(t.warnings, w) && len(t.warnings) < 20 {
		t.warnings = append(t.warnings, w)
	}
}
