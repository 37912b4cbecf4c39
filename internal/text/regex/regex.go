// Package regex has regular expressions that are compiled when they are first used. Most processes
// use few of them, and compiling all of them would delay the start of every wrap.
package regex

import (
	"regexp"
	"sync"
)

// Lazy is a regular expression that is compiled when it is first used. A package variable of this
// kind needs no initialization.
type Lazy struct {
	source string
	once   sync.Once
	re     *regexp.Regexp
}

// New returns the regular expression with this source. A source that does not compile panics when
// it is first used.
func New(source string) *Lazy { return &Lazy{source: source} }

// Regexp returns the compiled expression.
func (l *Lazy) Regexp() *regexp.Regexp {
	l.once.Do(func() { l.re = regexp.MustCompile(l.source) })
	return l.re
}

func (l *Lazy) Match(text []byte) bool        { return l.Regexp().Match(text) }
func (l *Lazy) MatchString(text string) bool  { return l.Regexp().MatchString(text) }
func (l *Lazy) FindString(text string) string { return l.Regexp().FindString(text) }
func (l *Lazy) FindStringIndex(text string) []int {
	return l.Regexp().FindStringIndex(text)
}
func (l *Lazy) FindStringSubmatch(text string) []string {
	return l.Regexp().FindStringSubmatch(text)
}
func (l *Lazy) FindStringSubmatchIndex(text string) []int {
	return l.Regexp().FindStringSubmatchIndex(text)
}
func (l *Lazy) FindAllString(text string, n int) []string {
	return l.Regexp().FindAllString(text, n)
}
func (l *Lazy) FindAllStringIndex(text string, n int) [][]int {
	return l.Regexp().FindAllStringIndex(text, n)
}
func (l *Lazy) FindAllStringSubmatch(text string, n int) [][]string {
	return l.Regexp().FindAllStringSubmatch(text, n)
}
func (l *Lazy) FindAllStringSubmatchIndex(text string, n int) [][]int {
	return l.Regexp().FindAllStringSubmatchIndex(text, n)
}
func (l *Lazy) ReplaceAllString(text, by string) string {
	return l.Regexp().ReplaceAllString(text, by)
}
func (l *Lazy) ReplaceAllStringFunc(text string, by func(string) string) string {
	return l.Regexp().ReplaceAllStringFunc(text, by)
}
func (l *Lazy) Split(text string, n int) []string { return l.Regexp().Split(text, n) }
