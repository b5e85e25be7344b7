package db

import "encoding/json"

// rowKey is the key of a row in the table subscriber, subscription or a related one. It usually consists of list and
// id.
type rowKey struct {
	First  string `db:"a"`
	Second string `db:"b"`
}

// ExecPairs runs the statement query for each row key that the statement find selects. pairs, a JSON array of pairs of
// list and id, is the first parameter of find. The two parts of the key are the last arguments of query, after args.
// ExecPairs returns the number of rows changed. A condition (list_id, id) IN (…) would do the same. But SQLite might
// search by the lists alone, and a person's pairs cover all lists.
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

// PairsOf returns a query for ExecPairs that selects the keys of a table's rows.
func PairsOf(table, id, where string) string {
	return "SELECT DISTINCT x.list_id AS a, x." + id + " AS b FROM json_each(?1) AS p CROSS JOIN " + table +
		" AS x ON x.list_id = p.value->>0 AND x." + id + " = p.value->>1" + where
}

// ExecEach runs a statement for each id, which is the last argument after args. It returns the number of rows
// changed. A condition with IN could be planned as a scan of the whole table.
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

// JsonOf returns a list as a JSON array, for SQL's json_each.
func JsonOf[T string | int64](list []T) string {
	if len(list) == 0 {
		return "[]"
	}
	b, err := json.Marshal(list)
	if err != nil {
		panic(err) // strings and numbers always encode
	}
	return string(b)
}

// LastID is a string that sorts after every UUID.
const LastID = "g"
