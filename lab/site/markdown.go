package main

import (
	"bytes"
	"fmt"
	"html"
	"regexp"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

// render turns the Markdown of a page into HTML, its headings and what the search finds.
func (s *site) render(p *page) {
	markdown := goldmark.New(goldmark.WithExtensions(extension.GFM),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(&pageRenderer{s, p}, 100))))
	document := markdown.Parser().Parse(text.NewReader(p.text))
	s.prepare(p, document)
	p.index(document)
	if p.title == "" {
		s.fail(p, "the page has no title: it must begin with a heading of the first level")
	}
	var out bytes.Buffer
	if err := markdown.Renderer().Render(&out, p.text, document); err != nil {
		s.fail(p, "%v", err)
	}
	p.html = strings.NewReplacer("<table>", `<div class="table" tabindex="0" role="region" aria-label="Table"><table>`, "</table>", "</table></div>").Replace(out.String())
}

// prepare gives headings their anchors and rewrites links.
func (s *site) prepare(p *page, document ast.Node) {
	used := map[string]int{}
	ast.Walk(document, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Heading:
			words := textOf(n, p.text)
			id := anchor(words)
			if used[id]++; used[id] > 1 {
				id = fmt.Sprintf("%s-%d", id, used[id]-1)
			}
			n.SetAttributeString("id", []byte(id))
			p.headings = append(p.headings, heading{n.Level, id, words})
			if n.Level == 1 && p.title == "" {
				p.title = words
			}
		case *ast.Link:
			n.Destination = []byte(s.resolve(p, string(n.Destination)))
		case *ast.Image:
			n.Destination = []byte(s.image(p, string(n.Destination)))
		}
		return ast.WalkContinue, nil // the function above never fails
	})
}

// anchor returns the anchor of a heading, as GitHub makes it.
func anchor(words string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			return unicode.ToLower(r)
		}
		return -1
	}, words)
}

// textOf returns the text below a node.
func textOf(n ast.Node, source []byte) string {
	var b strings.Builder
	ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Text:
			if entering {
				word := n.Segment.Value(source)
				if n.Parent().Kind() != ast.KindCodeSpan {
					word = util.UnescapePunctuations(word)
				}
				b.Write(util.ResolveEntityNames(util.ResolveNumericReferences(word)))
				if n.SoftLineBreak() || n.HardLineBreak() {
					b.WriteByte(' ')
				}
			}
		case *ast.String:
			if entering {
				b.Write(n.Value)
			}
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			if entering {
				b.Write(n.Lines().Value(source))
			}
		default:
			if !entering && n.Type() == ast.TypeBlock {
				b.WriteByte(' ')
			}
		}
		return ast.WalkContinue, nil
	})
	return strings.TrimSpace(b.String())
}

// index collects what the search finds.
func (p *page) index(document ast.Node) {
	current := section{Page: p.name, Title: p.title}
	keep := func() {
		current.Text = strings.Join(strings.Fields(current.Text), " ")
		if current.Text != "" || current.Heading != "" {
			p.sections = append(p.sections, current)
		}
	}
	for n := document.FirstChild(); n != nil; n = n.NextSibling() {
		h, isHeading := n.(*ast.Heading)
		if !isHeading {
			current.Text += " " + textOf(n, p.text)
			continue
		}
		keep()
		current = section{Page: p.name, Title: p.title}
		if h.Level > 1 {
			id, _ := h.AttributeString("id")
			current.ID, current.Heading = string(id.([]byte)), textOf(h, p.text)
		}
	}
	keep()
}

// pageRenderer renders what differs from plain HTML: headings link to themselves, codes to their
// explanation, and HTML has its links rewritten.
type pageRenderer struct {
	site *site
	page *page
}

// RegisterFuncs implements renderer.NodeRenderer.
func (r *pageRenderer) RegisterFuncs(register renderer.NodeRendererFuncRegisterer) {
	register.Register(ast.KindHeading, r.heading)
	register.Register(ast.KindCodeSpan, r.codeSpan)
	register.Register(ast.KindFencedCodeBlock, r.codeBlock)
	register.Register(ast.KindCodeBlock, r.codeBlock)
	register.Register(ast.KindHTMLBlock, r.htmlBlock)
	register.Register(ast.KindRawHTML, r.rawHTML)
}

func (r *pageRenderer) heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n := node.(*ast.Heading)
	id, _ := n.AttributeString("id")
	switch {
	case entering:
		fmt.Fprintf(w, `<h%d id="%s">`, n.Level, id)
	case n.Level == 1:
		fmt.Fprintf(w, "</h1>\n")
	default:
		fmt.Fprintf(w, ` <a class="anchor" href="#%s" aria-label="Link to this section">#</a></h%d>`+"\n", id, n.Level)
	}
	return ast.WalkContinue, nil
}

func (r *pageRenderer) codeSpan(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	code := "<code>" + html.EscapeString(textOf(n, source)) + "</code>"
	name := strings.TrimSuffix(strings.TrimPrefix(textOf(n, source), "[gauze: "), "]")
	if r.site.codes[name] && n.Parent().Kind() != ast.KindLink && n.Parent().Kind() != ast.KindHeading {
		code = fmt.Sprintf(`<a href="explain.html#%s">%s</a>`, name, code)
	}
	w.WriteString(code)
	return ast.WalkSkipChildren, nil
}

// mention is a code in a block of code.
var mention = regexp.MustCompile(`(\[gauze: |gauze explain )([a-z0-9_-]+)`)

func (r *pageRenderer) codeBlock(w util.BufWriter, source []byte, n ast.Node, entering bool) (ast.WalkStatus, error) {
	if !entering {
		return ast.WalkContinue, nil
	}
	code := mention.ReplaceAllStringFunc(html.EscapeString(string(n.Lines().Value(source))), func(found string) string {
		m := mention.FindStringSubmatch(found)
		if !r.site.codes[m[2]] {
			return found
		}
		return fmt.Sprintf(`%s<a href="explain.html#%s">%[2]s</a>`, m[1], m[2])
	})
	fmt.Fprintf(w, "<pre tabindex=\"0\"><code>%s</code></pre>\n", code)
	return ast.WalkSkipChildren, nil
}

func (r *pageRenderer) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n := node.(*ast.HTMLBlock); entering {
		w.WriteString(r.site.inHTML(r.page, string(n.Lines().Value(source))))
		if n.HasClosure() {
			w.Write(n.ClosureLine.Value(source))
		}
	}
	return ast.WalkContinue, nil
}

func (r *pageRenderer) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n := node.(*ast.RawHTML); entering {
		w.WriteString(r.site.inHTML(r.page, string(n.Segments.Value(source))))
	}
	return ast.WalkSkipChildren, nil
}
