package sqlread

// functions are the built-in functions that change nothing, neither in the
// database nor in the session, reach no file and no network, and wait for
// nothing. What is missing here is not a read. The lists are kept by hand on
// purpose: a catalogue's "stable" covers functions that hand out transaction
// numbers.
var functions = [...]map[string]bool{
	Postgres: set(postgresText, postgresNumbers, postgresTimes, postgresJSON, postgresArrays, postgresAggregates, postgresCatalogue),
	MySQL:    set(mysqlText, mysqlNumbers, mysqlTimes, mysqlJSON, mysqlAggregates, mysqlSession),
	SQLite:   set(sqliteScalars, sqliteTimes, sqliteJSON, sqliteAggregates, sqliteTables),
}

const (
	postgresText = `ascii bit_length btrim char_length character_length chr concat concat_ws convert_from
		convert_to decode encode format initcap left length lower lpad ltrim md5 normalize octet_length overlay
		parse_ident position quote_ident quote_literal quote_nullable regexp_count regexp_instr regexp_like
		regexp_match regexp_matches regexp_replace regexp_split_to_array regexp_split_to_table regexp_substr repeat
		replace reverse right rpad rtrim sha224 sha256 sha384 sha512 split_part starts_with string_to_array
		string_to_table strpos substr substring to_ascii to_hex translate trim upper
		plainto_tsquery phraseto_tsquery websearch_to_tsquery to_tsquery to_tsvector ts_rank ts_rank_cd ts_headline
		setweight numnode querytree strip text varchar`
	postgresNumbers = `abs acos acosd acosh asin asind asinh atan atan2 atan2d atand atanh cbrt ceil ceiling cos
		cosd cosh cot cotd degrees div exp factorial floor gcd greatest lcm least ln log log10 mod pi power pow
		radians random round scale min_scale trim_scale sign sin sind sinh sqrt tan tand tanh trunc width_bucket
		coalesce nullif num_nonnulls num_nulls bit_count int2 int4 int8 float4 float8 numeric bool`
	postgresTimes = `age clock_timestamp date date_bin date_part date_trunc extract isfinite justify_days
		justify_hours justify_interval make_date make_interval make_time make_timestamp make_timestamptz now
		statement_timestamp timeofday timezone to_char to_date to_number to_timestamp transaction_timestamp
		gen_random_uuid`
	postgresJSON = `array_to_json json_array_elements json_array_elements_text json_array_length json_build_array
		json_build_object json_each json_each_text json_extract_path json_extract_path_text json_object
		json_object_keys json_strip_nulls json_typeof jsonb_array_elements jsonb_array_elements_text
		jsonb_array_length jsonb_build_array jsonb_build_object jsonb_each jsonb_each_text jsonb_extract_path
		jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_keys jsonb_path_exists jsonb_path_match
		jsonb_path_query jsonb_path_query_array jsonb_path_query_first jsonb_pretty jsonb_set jsonb_strip_nulls
		jsonb_typeof row_to_json to_json to_jsonb json_to_record json_to_recordset jsonb_to_record
		jsonb_to_recordset`
	postgresArrays = `array_append array_cat array_dims array_fill array_length array_lower array_ndims
		array_position array_positions array_prepend array_remove array_replace array_to_string array_upper
		cardinality generate_series generate_subscripts unnest isempty lower_inc lower_inf upper_inc upper_inf
		range_merge int4range int8range numrange daterange tsrange tstzrange enum_first enum_last enum_range
		host family netmask network masklen broadcast hostmask abbrev inet_same_family`
	postgresAggregates = `array_agg avg bit_and bit_or bit_xor bool_and bool_or corr count covar_pop covar_samp
		cume_dist dense_rank every first_value grouping json_agg json_object_agg jsonb_agg jsonb_object_agg lag
		last_value lead max min mode nth_value ntile percent_rank percentile_cont percentile_disc range_agg rank
		regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy row_number
		stddev stddev_pop stddev_samp string_agg sum var_pop var_samp variance`
	postgresCatalogue = `col_description current_database current_schema current_schemas current_setting
		format_type has_any_column_privilege has_column_privilege has_database_privilege has_schema_privilege
		has_sequence_privilege has_table_privilege inet_client_addr inet_server_addr inet_server_port
		obj_description pg_backend_pid pg_column_size pg_database_size pg_encoding_to_char pg_get_constraintdef
		pg_get_expr pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result
		pg_get_functiondef pg_get_indexdef pg_get_serial_sequence pg_get_triggerdef pg_get_userbyid pg_get_viewdef
		pg_indexes_size pg_is_in_recovery pg_postmaster_start_time pg_relation_size pg_size_pretty
		pg_table_is_visible pg_table_size pg_total_relation_size pg_type_is_visible pg_typeof shobj_description
		to_regclass to_regnamespace to_regproc to_regrole to_regtype version`
)

const (
	mysqlText = `ascii bin bit_length char char_length character_length concat concat_ws convert elt field
		find_in_set format from_base64 hex instr lcase left length locate lower lpad ltrim make_set md5 mid
		oct octet_length ord position quote regexp_instr regexp_like regexp_replace regexp_substr repeat replace
		reverse right rpad rtrim sha sha1 sha2 soundex space strcmp substr substring substring_index to_base64 trim
		ucase unhex upper`
	mysqlNumbers = `abs acos asin atan atan2 bit_count ceil ceiling conv cos cot crc32 degrees exp floor greatest
		least ln log log10 log2 mod pi pow power radians rand round sign sin sqrt tan truncate coalesce if ifnull
		isnull nullif uuid inet_aton inet_ntoa inet6_aton inet6_ntoa is_ipv4 is_ipv6 is_uuid bin_to_uuid uuid_to_bin`
	mysqlTimes = `adddate addtime convert_tz curdate current_date current_time current_timestamp curtime date
		date_add date_format date_sub datediff day dayname dayofmonth dayofweek dayofyear extract from_days
		from_unixtime hour last_day localtime localtimestamp makedate maketime microsecond minute month monthname
		now period_add period_diff quarter sec_to_time second str_to_date subdate subtime sysdate time time_format
		time_to_sec timediff timestamp timestampadd timestampdiff to_days to_seconds unix_timestamp utc_date
		utc_time utc_timestamp week weekday weekofyear year yearweek`
	mysqlJSON = `json_array json_array_append json_array_insert json_contains json_contains_path json_depth
		json_extract json_insert json_keys json_length json_merge_patch json_merge_preserve json_object
		json_overlaps json_pretty json_quote json_remove json_replace json_search json_set json_storage_size
		json_type json_unquote json_valid json_value`
	mysqlAggregates = `any_value avg bit_and bit_or bit_xor count cume_dist dense_rank first_value group_concat
		grouping json_arrayagg json_objectagg lag last_value lead max min nth_value ntile percent_rank rank
		row_number std stddev stddev_pop stddev_samp sum var_pop var_samp variance`
	mysqlSession = `charset coercibility collation connection_id current_role current_user database found_rows
		row_count schema session_user system_user user version`
)

const (
	sqliteScalars = `abs acos acosh asin asinh atan atan2 atanh ceil ceiling changes char coalesce concat concat_ws
		cos cosh degrees exp floor format glob hex ifnull iif instr last_insert_rowid length like likelihood likely
		ln log log10 log2 lower ltrim max min mod nullif octet_length pi pow power printf quote radians random
		randomblob replace round rtrim sign sin sinh soundex sqlite_source_id sqlite_version sqrt substr substring
		tan tanh total_changes trim trunc typeof unhex unicode unlikely upper zeroblob bm25 highlight snippet`
	sqliteTimes = `date time datetime julianday unixepoch strftime timediff`
	sqliteJSON  = `json json_array json_array_length json_error_position json_extract json_insert json_object
		json_patch json_pretty json_quote json_remove json_replace json_set json_type json_valid json_group_array
		json_group_object jsonb jsonb_array jsonb_extract jsonb_insert jsonb_object jsonb_patch jsonb_remove
		jsonb_replace jsonb_set jsonb_group_array jsonb_group_object`
	sqliteAggregates = `avg count group_concat string_agg sum total row_number rank dense_rank percent_rank
		cume_dist ntile lag lead first_value last_value nth_value`
	sqliteTables = `json_each json_tree generate_series pragma_table_info pragma_table_xinfo pragma_table_list
		pragma_index_list pragma_index_info pragma_foreign_key_list`
)
