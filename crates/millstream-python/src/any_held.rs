//! A held component of any kind, so that one base class serves all of them. The list of kinds is `with_held_kinds!`.

use millstream_core::declaration::Role;
use millstream_core::held::state::Saved;
use millstream_core::held::{self, Held, Holdable};
use millstream_core::Fault;
use serde_json::Value as Json;

/// A kind of component that a compiled class holds.
pub trait Kind: Holdable + Send + Sync {
    fn of(any: &AnyHeld) -> Option<&Held<Self>>;
    fn of_mut(any: &mut AnyHeld) -> Option<&mut Held<Self>>;
    fn into_any(held: Held<Self>) -> AnyHeld;
}

macro_rules! kinds {
    ($($kind:ident of $part:ty),*) => {
        // Each object of Python holds one of these, and it is moved only when the object is made.
        #[derive(Clone)]
        #[allow(clippy::large_enum_variant)]
        pub enum AnyHeld {
            $($kind(held::$kind)),*
        }

        $(impl Kind for $part {
            #[inline]
            fn of(any: &AnyHeld) -> Option<&Held<Self>> {
                match any {
                    AnyHeld::$kind(held) => Some(held),
                    _ => None,
                }
            }

            #[inline]
            fn of_mut(any: &mut AnyHeld) -> Option<&mut Held<Self>> {
                match any {
                    AnyHeld::$kind(held) => Some(held),
                    _ => None,
                }
            }

            fn into_any(held: Held<Self>) -> AnyHeld {
                AnyHeld::$kind(held)
            }
        })*

        impl AnyHeld {
            /// Merge another component of the same kind; see `Held::merge`.
            pub fn merge(&mut self, other: &AnyHeld, base: Option<&AnyHeld>) -> millstream_core::Result<()> {
                match self {
                    $(AnyHeld::$kind(held) => {
                        let same = |any| <$part as Kind>::of(any).ok_or_else(|| another_kind(held.title(), any));
                        let (other, base) = (same(other)?, base.map(same).transpose()?);
                        held.merge(other, base)
                    })*
                }
            }
        }

        /// Do the same with a component of each kind.
        macro_rules! each_kind {
            ($any:expr, $held:ident => $do:expr) => {
                match $any {
                    $($crate::any_held::AnyHeld::$kind($held) => $do),*
                }
            };
        }
        pub(crate) use each_kind;
    };
}

millstream_core::with_held_kinds!(kinds);

/// The fault of merging a component of another kind.
fn another_kind(title: &str, other: &AnyHeld) -> Fault {
    let found = each_kind!(other, held => held.title());
    Fault::wrong_type(format!("{title}: only the same component can be merged, got {found}"))
}

impl AnyHeld {
    pub fn role(&self) -> Role {
        each_kind!(self, held => held.role())
    }
}

/// What a compiled class makes components of its kind with.
#[derive(Clone, Copy)]
pub struct Factory {
    pub word: &'static str,
    pub build: fn(&Json) -> millstream_core::Result<AnyHeld>,
    pub load: fn(Saved) -> millstream_core::Result<AnyHeld>,
    /// None for a component of another kind.
    pub copy: fn(&AnyHeld) -> Option<AnyHeld>,
}

impl Factory {
    pub fn of<P: Kind>() -> Self {
        Factory {
            word: P::WORD,
            build: |description| Held::<P>::new(description).map(P::into_any),
            load: |saved| Held::<P>::from_saved(saved).map(P::into_any),
            copy: |any| P::of(any).cloned().map(P::into_any),
        }
    }
}
