//! The in-memory store shows every behaviour.

use space_profiles_conformance::MemoryBuilder;

space_profiles_conformance::conformance_tests!(MemoryBuilder);
