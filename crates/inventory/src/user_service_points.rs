//! The service points of a user, as part of the composite user.

use carrel_platform::Pipeline;
use uuid::Uuid;

/// Adds a statement with the user's service points in a column `document`: their record, with the complete service
/// points.
pub fn add(pipeline: &mut Pipeline, user: Uuid) -> usize {
    pipeline.add(
        "SELECT own.doc || jsonb_build_object('servicePoints', coalesce(
             (SELECT jsonb_agg(point.doc ORDER BY point.doc->>'name', point.id) FROM service_point point
              WHERE own.doc->'servicePointsIds' ? point.id::text
                 OR own.doc->>'defaultServicePointId' = point.id::text), '[]')) AS document
         FROM service_point_user own WHERE own.user_id = $1 LIMIT 1",
        vec![user.into()],
    )
}
