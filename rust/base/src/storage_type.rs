//! How the elements of an array are stored.

/// The storage type of an array, with MXNet's codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum StorageType {
    /// Dense: every element is there.
    #[default]
    Default = 0,
    /// Some of the rows are there, the others are zero.
    RowSparse = 1,
    /// Compressed sparse rows: of each row the elements that are not zero, with their columns.
    Csr = 2,
}

impl StorageType {
    /// Every storage type, in the order of the codes.
    pub const ALL: [StorageType; 3] = [
        StorageType::Default,
        StorageType::RowSparse,
        StorageType::Csr,
    ];

    /// MXNet's name.
    pub const fn name(self) -> &'static str {
        match self {
            StorageType::Default => "default",
            StorageType::RowSparse => "row_sparse",
            StorageType::Csr => "csr",
        }
    }

    /// The storage type of that name.
    ///
    /// ```
    /// use ferromix_base::StorageType;
    ///
    /// assert_eq!(StorageType::from_name("csr"), Some(StorageType::Csr));
    /// assert_eq!(StorageType::from_name("dense"), None);
    /// ```
    pub fn from_name(name: &str) -> Option<Self> {
        StorageType::ALL.into_iter().find(|t| t.name() == name)
    }
}
