//! The encoding of the database, which decides whether every valid text can be stored.

use space_profiles_core::StoreError;
use sqlx::PgConnection;

use crate::error::store_error;

pub(super) async fn differences(reading: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    const SQL: &str = "SELECT current_setting('server_encoding')";
    let found: String =
        sqlx::query_scalar(SQL).persistent(false).fetch_one(reading).await.map_err(|error| store_error(&error))?;
    if found == "UTF8" {
        return Ok(Vec::new());
    }
    Ok(vec![format!(
        "expected the encoding of the database to be `UTF8`, found `{found}`, in which not every valid name, snapshot \
         or message can be stored; create a database with ENCODING 'UTF8' TEMPLATE template0, and restore a dump of \
         this one there"
    )])
}
