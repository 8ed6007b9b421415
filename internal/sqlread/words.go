package sqlread

import "strings"

// set makes a set of the words in the texts.
func set(texts ...string) map[string]bool {
	m := map[string]bool{}
	for _, t := range texts {
		for w := range strings.FieldsSeq(t) {
			m[w] = true
		}
	}
	return m
}

// neverInQuery are words that, unquoted, are refused anywhere in a text, even
// where the grammar took them for a name.
var neverInQuery = set(`into insert update delete merge lock procedure outfile dumpfile returning`)

// operators are the built-in operators. PostgreSQL's are those of its
// catalogue; an operator that is not there was made by somebody and may call
// anything.
var operators = [...]map[string]bool{
	Postgres: set(`!! !~ !~* !~~ !~~* != # ## #- #> #>> % & && &< &<| &> * *< *<= *<> *= *> *>= + - -> ->> -|- /
		< <-> << <<= <<| <= <> <@ <^ = > >= >> >>= >^ ? ?# ?& ?- ?-| ?| ?|| @ @-@ @> @? @@ @@@ ^ ^@ | |&> |/ |>>
		|| ||/ ~ ~* ~<=~ ~<~ ~= ~>=~ ~>~ ~~ ~~* =>`),
	MySQL:  set(`<=> ->> -> << >> <= >= <> != || && = < > + - * / % ^ & | ~ !`),
	SQLite: set(`->> -> || << >> <= >= == != <> = < > + - * / % & | ~`),
}

// prefixOperators may stand before an operand.
var prefixOperators = [...]map[string]bool{
	Postgres: set(`+ - ~ @ @@ @-@ |/ ||/ !! # ?- ?|`),
	MySQL:    set(`+ - ~ !`),
	SQLite:   set(`+ - ~`),
}

// reserved words are never names. The list of each dialect is its own: a word
// the grammar took for a table, where the database sees a keyword such as
// LATERAL, would turn the alias behind it into a function call.
var reserved = [...]map[string]bool{
	Postgres: set(`all analyse analyze and any array as asc asymmetric both case cast check collate column
		constraint create current_catalog current_date current_role current_time current_timestamp current_user
		default deferrable desc distinct do else end except false fetch for foreign from grant group having in
		initially intersect into lateral leading limit localtime localtimestamp not null offset on only or order
		placing primary references returning select session_user some symmetric system_user table then to
		trailing true union unique user using variadic when where window with
		authorization binary collation concurrently cross current_schema freeze full ilike inner is isnull join
		left like natural notnull outer overlaps right similar tablesample verbose
		values between exists operator rows row`),
	MySQL: set(`accessible add all alter analyze and as asc asensitive before between both by call cascade case
		change check collate column condition constraint continue convert create cross cube current_date
		current_time current_timestamp current_user cursor databases declare default delayed delete desc describe
		deterministic distinct distinctrow div drop dual each else elseif empty enclosed escaped except exists exit
		explain false fetch for force foreign from fulltext function generated get grant group grouping groups
		having high_priority if ignore in index infile inner inout insensitive insert intersect into is iterate
		join json_table key keys kill lateral leading leave left like limit linear lines load localtime
		localtimestamp lock loop low_priority manual match maxvalue mod modifies natural not no_write_to_binlog
		null of offset on optimize optimizer_costs option optionally or order out outer outfile over parallel
		partition primary procedure purge qualify range read reads read_write recursive references regexp release
		rename repeat replace require resignal restrict return revoke right rlike row rows schemas select separator
		set show signal spatial specific sql sqlexception sqlstate sqlwarning ssl starting straight_join system
		table tablesample terminated then to trailing trigger true undo union unique unlock update usage use
		using values when where while window with write xor returning procedure analyse`),
	SQLite: set(`add all alter and as autoincrement between case check collate commit constraint create cross
		current_date current_time current_timestamp default deferrable delete distinct drop else escape except
		exists false foreign from full group having in index indexed inner insert intersect into is isnull join
		left limit natural not notnull null on or order outer primary references returning right select set table
		then to transaction true union unique update using values when where with for lock`),
}

// notBareAlias are words that go on with a clause rather than name a column.
var notBareAlias = set(`over filter within order group limit offset fetch union intersect except minus having
	window where from on using join left right full inner cross natural straight_join for lock as
	collate at escape like ilike glob match regexp rlike similar between in is isnull notnull not and or xor div mod
	separator asc desc nulls respect ignore member use force indexed tablesample partition with
	end then else when year month day hour minute second preceding following placing`)

// constants are functions and values written without brackets.
var constants = [...]map[string]bool{
	Postgres: set(`null true false default current_catalog current_date current_role current_schema current_time
		current_timestamp current_user localtime localtimestamp session_user user`),
	MySQL: set(`null true false current_date current_time current_timestamp current_user localtime
		localtimestamp utc_date utc_time utc_timestamp`),
	SQLite: set(`null true false current_date current_time current_timestamp`),
}

// types are the built-in types a value may be cast to. A cast to a type of
// somebody's own may run a check or a conversion of theirs.
var types = [...]map[string]bool{
	Postgres: set(`bigint bit bool boolean box bpchar bytea char character cidr circle date daterange decimal dec
		double float float4 float8 inet int int2 int4 int8 int4range int8range integer interval json jsonb jsonpath
		line lseg macaddr macaddr8 money name national nchar numeric numrange oid path pg_lsn point polygon real
		regclass regconfig regnamespace regoper regoperator regproc regprocedure regrole regtype smallint text tid
		time timestamp timestamptz timetz tsquery tsrange tstzrange tsvector uuid varbit varchar xid xml`),
	MySQL: set(`binary char date datetime dec decimal double float integer int json nchar real signed time timestamp
		unsigned year`),
	SQLite: set(`bigint blob bool boolean char character clob date datetime decimal double float int integer
		nchar nvarchar numeric real smallint text tinyint varchar`),
}

// typedLiterals are types that may stand before a string.
var typedLiterals = [...]map[string]bool{
	Postgres: types[Postgres],
	MySQL:    set(`date time timestamp`),
	SQLite:   {},
}

// intervalUnits are the units of an interval.
var intervalUnits = set(`microsecond second minute hour day week month quarter year second_microsecond
	minute_microsecond minute_second hour_microsecond hour_second hour_minute day_microsecond day_second
	day_minute day_hour year_month`)

// outColumns are the columns of the PostgreSQL functions that name their
// columns themselves, whatever alias they get: see parser.checkFields.
var outColumns = map[string]map[string]bool{
	"json_array_elements": set(`value`), "json_array_elements_text": set(`value`),
	"jsonb_array_elements": set(`value`), "jsonb_array_elements_text": set(`value`),
	"json_each": set(`key value`), "json_each_text": set(`key value`),
	"jsonb_each": set(`key value`), "jsonb_each_text": set(`key value`),
	"unnest": {}, // of a tsvector it has three columns, else one
}
