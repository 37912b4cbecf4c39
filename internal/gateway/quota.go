package gateway

// quota shares a limited amount among the principals. Each of them keeps a part
// that no other can take; what is left goes to whoever comes first.
type quota struct {
	limit int
	part  int // that each principal keeps
	used  int
	kept  int // the unused parts of all principals
	by    map[principal]int
}

// newQuota keeps half of limit in equal parts, at least one unit each where
// there is enough.
func newQuota(limit int, all []principal) quota {
	known := map[principal]bool{}
	for _, who := range all {
		known[who] = true
	}
	n := max(1, len(known))
	part := limit / (2 * n)
	if part == 0 && n <= limit {
		part = 1
	}
	return quota{limit: limit, part: part, kept: n * part, by: map[principal]int{}}
}

// allows reports whether who may have n more.
func (q *quota) allows(who principal, n int) bool {
	return q.used+n+q.kept-q.unused(who) <= q.limit
}

// add gives who n more, or takes -n back.
func (q *quota) add(who principal, n int) {
	before := q.unused(who)
	q.used += n
	if q.by[who] += n; q.by[who] == 0 {
		delete(q.by, who)
	}
	q.kept += q.unused(who) - before
}

// unused returns what is left of the part that who keeps.
func (q *quota) unused(who principal) int { return max(0, q.part-q.by[who]) }
