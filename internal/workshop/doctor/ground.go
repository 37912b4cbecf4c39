package doctor

// Ground is why a cause is considered: its best clue, and what the clue matched.
type Ground struct {
	Cause      string  `json:"cause"`
	Confidence float64 `json:"confidence"`
	Clue       string  `json:"clue"`               // a pattern, or an observation, as it is written in File
	Fact       string  `json:"fact,omitempty"`     // the fact that Clue reports, if several causes share it
	File       string  `json:"file"`               // with the line
	Line       string  `json:"line"`               // of the evidence, fit to be shown
	HiddenBy   string  `json:"hiddenBy,omitempty"` // the cause of which this one is only a consequence
}

// Explain returns the grounds of the causes that Diagnose compares, best first. Its result is empty
// if no clue fits.
func Explain(c Case) (grounds []Ground) {
	x := newExam(c)
	found := x.findings()
	for _, f := range found {
		g := Ground{Cause: f.cause.name, Confidence: f.confidence, Clue: f.clue.text, File: f.clue.where(), Line: x.reason(f.match)}
		if f.report != nil {
			g.Fact, g.Clue, g.File = f.clue.fact.name, f.report.text, f.report.where()
		}
		for _, other := range found {
			if f.hidden && g.HiddenBy == "" && other.hides(f.cause) {
				g.HiddenBy = other.cause.name
			}
		}
		grounds = append(grounds, g)
	}
	return grounds
}
