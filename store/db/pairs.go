package db

import "newsletterd/core"

// rowKey is the key of a row of subscribers, subscriptions or what is kept of them, most often list and id.
type rowKey struct {
	First  string `db:"a"`
	Second string `db:"b"`
}

// ExecPairs runs a statement for each key that find selects by the pairs of list and id in its first parameter, and
// returns the number of rows that it changed. The keys are the last two arguments of the statement, after args. A
// condition (list_id, id) IN (…) could be searched by the lists alone, and the pairs of a person are of all lists.
func (tx *Tx) ExecPairs(pairs, find, query string, args ...any) (all int64, err error) {
	var keys []rowKey
	if err := tx.All(&keys, find, pairs); err != nil {
		return 0, err
	}
	args = append(args, nil, nil)
	for _, k := range keys {
		args[len(args)-2], args[len(args)-1] = k.First, k.Second
		n, err := tx.Exec(query, args...)
		if err != nil {
			return all, err
		}
		all += n
	}
	return all, nil
}

// PairsOf selects the keys of a table's rows by such pairs.
func PairsOf(table, id, where string) string {
	return "SELECT DISTINCT x.list_id AS a, x." + id + " AS b FROM json_each(?1) AS p CROSS JOIN " + table +
		" AS x ON x.list_id = p.value->>0 AND x." + id + " = p.value->>1" + where
}

// ExecEach runs a statement for each of these ids, which is its last argument after args, and returns the number of
// rows that it changed. With IN, a plan could go through the whole table instead.
func (tx *Tx) ExecEach(ids []int64, query string, args ...any) (all int64, err error) {
	args = append(args, nil)
	for _, id := range ids {
		args[len(args)-1] = id
		n, err := tx.Exec(query, args...)
		if err != nil {
			return all, err
		}
		all += n
	}
	return all, nil
}

// JsonOf is a list of texts as an argument of json_each.
func JsonOf(list []string) string { return core.Strings(list).Column() }

// LastID comes after every UUID.
const LastID = "g"
