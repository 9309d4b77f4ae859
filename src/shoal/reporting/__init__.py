"""What every report is made with: results kept on disk, pages, and a word on where they were made."""
