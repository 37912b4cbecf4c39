package gateway

// quota shares a limited amount among the principals. Each has a reserved part that no other can
// use; the rest is given out in order of arrival.
type quota struct {
	limit int
	part  int // reserved for each principal
	used  int
	kept  int // the unused reserved parts of all principals
	by    map[principal]int
	open  bool // the principals are not known in advance, so nothing is reserved by name
}

// newOpenQuota returns a quota for any number of principals. Those with more than a share leave one
// for those with less.
func newOpenQuota(limit int) quota {
	return quota{limit: limit, open: true, by: map[principal]int{}}
}

// newQuota reserves half of limit in equal parts, at least one unit each if there are enough.
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
	if q.open && q.by[who]+n <= q.share() {
		return q.used+n <= q.limit
	}
	if q.open {
		return q.used+n <= q.limit-q.share()
	}
	return q.used+n+q.kept-q.unused(who) <= q.limit
}

// yields reports whether who may take what other has: its own, and what others have beyond their share.
func (q *quota) yields(other, who principal) bool { return other == who || q.by[other] > q.share() }

// share returns what a principal may have without giving way to others: at most a quarter if the
// principals are not known in advance, and less the more there are.
func (q *quota) share() int {
	if q.open {
		return q.limit / max(4, len(q.by)+1)
	}
	return q.part
}

// add gives n more to who, or takes -n back.
func (q *quota) add(who principal, n int) {
	before := q.unused(who)
	q.used += n
	if q.by[who] += n; q.by[who] == 0 {
		delete(q.by, who)
	}
	q.kept += q.unused(who) - before
}

// unused returns what is left of the part reserved for who.
func (q *quota) unused(who principal) int { return max(0, q.part-q.by[who]) }
